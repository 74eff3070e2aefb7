// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
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
/// Reads a file of this computer from `offset` on until `into` is full or the file ends.
/// @return bytes that have been read; or, negative, the number of the error.
std::int64_t read_part_here(const std::string& path, std::uint64_t offset, std::span<char> into);
/// A file, part by part. @param read as `read_part_here`, wherever the file is.
/// @error bad_argument: it cannot be read.
std::string read_parts(
    const std::string& path, std::size_t part_bytes,
    const std::function<std::int64_t(std::uint64_t offset, std::span<char> into)>& read);

}  // namespace selion::machine::workers
