// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

/// FNV-1a (Fowler, Noll, Vo; 64 bits): tells texts and rows of numbers apart, the same in all
/// processes and on all hosts.
namespace selion::detail {

inline constexpr std::uint64_t empty_hash = 0xcbf29ce484222325;

/// With a whole number as one letter. @param before hash of what comes before.
constexpr std::uint64_t number_hash(std::uint64_t number, std::uint64_t before) {
    return (before ^ number) * 0x100000001b3;
}

/// @param before hash of what comes before the text.
constexpr std::uint64_t text_hash(std::string_view text, std::uint64_t before = empty_hash) {
    std::uint64_t hash = before;
    for (const char next : text) hash = number_hash(static_cast<unsigned char>(next), hash);
    return hash;
}

}  // namespace selion::detail
