// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace selion::coherence {

/// An array of a space: where it lies in each rank's memory.
struct named_array {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::string name;

    bool has(std::uint64_t place) const { return place - offset < bytes; }
};

/// @return null: no array has the byte.
inline const named_array* find_array(const std::vector<named_array>& all, std::uint64_t place) {
    const auto found =
        std::ranges::find_if(all, [&](const named_array& one) { return one.has(place); });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace selion::coherence
