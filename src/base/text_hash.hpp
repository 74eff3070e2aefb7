// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace selion::base {

inline constexpr std::uint64_t empty_hash = 0xcbf29ce484222325;

/// FNV-1a (Fowler, Noll, Vo; 64 bits). @param before hash of what comes before the text.
constexpr std::uint64_t text_hash(std::string_view text, std::uint64_t before = empty_hash) {
    std::uint64_t hash = before;
    for (const char next : text) {
        hash = (hash ^ static_cast<unsigned char>(next)) * 0x100000001b3;
    }
    return hash;
}

}  // namespace selion::base
