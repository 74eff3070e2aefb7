// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <selion/selion.hpp>

#include "harness/flags.hpp"

namespace bench::bare {

/// A line with the words of a `signal`, and room for a payload.
struct alignas(128) signal_line {
    selion::signal announcement;
    std::uint64_t payload;
};

inline selion::global_ptr<selion::signal> signal_of(selion::global_ptr<signal_line> line) {
    return line.reinterpret<selion::signal>();
}

inline selion::global_ptr<std::uint64_t> payload_of(selion::global_ptr<signal_line> line) {
    return line.reinterpret<std::uint64_t>() + 2;
}
static_assert(sizeof(selion::signal) == 2 * sizeof(std::uint64_t));

}  // namespace bench::bare
