// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <source_location>

namespace unit {

/// What compilers keep of a place in the program, in the order that their libraries know.
struct kept_place {
    const char* file;
    const char* function;
    unsigned line;
    unsigned column;
};

/// A source location that refers to it, as those do that the compiler makes.
inline std::source_location location_of(const kept_place& place) {
    return std::bit_cast<std::source_location>(static_cast<const void*>(&place));
}

}  // namespace unit
