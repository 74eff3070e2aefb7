// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "selion/routine.hpp"

namespace selion::detail {

/// What the worker that runs a routine does for it.
class worker_services {
public:
    virtual ~worker_services() = default;
    virtual std::uint32_t number() const = 0;
    virtual bool is_cancelled() const = 0;
    virtual void print(std::string_view text) = 0;
    virtual std::string read_file(const std::string& path) = 0;
};

}  // namespace selion::detail

namespace selion::machine::workers {

/// For workers on the host's own computer: they print and read by themselves.
void print_here(std::string_view text);
/// @error bad_argument: it cannot be read.
std::string read_here(const std::string& path);

}  // namespace selion::machine::workers
