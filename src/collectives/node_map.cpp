// SPDX-License-Identifier: Apache-2.0
#include "collectives/node_map.hpp"

#include <algorithm>
#include <utility>

namespace selion::collectives {

node_map::node_map(std::vector<std::uint32_t> firsts, std::uint32_t count)
    : firsts_(std::move(firsts)), count_(count) {}

node_map node_map::of_marks(std::span<const std::uint64_t> marks, std::uint32_t count) {
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t number = 0; number < count; ++number) {
        if ((marks[number / 64] >> number % 64 & 1) != 0) firsts.push_back(number);
    }
    return {std::move(firsts), count};
}

std::uint32_t node_map::node_of(std::uint32_t number) const {
    return static_cast<std::uint32_t>(std::ranges::upper_bound(firsts_, number) - firsts_.begin()) -
           1;
}

std::uint32_t node_map::most() const {
    std::uint32_t most = 0;
    for (std::uint32_t node = 0; node < nodes(); ++node) most = std::max(most, size_of(node));
    return most;
}

std::uint32_t node_map::common_size() const {
    if (nodes() == 0) return 0;
    const std::uint32_t size = size_of(0);
    for (std::uint32_t node = 0; node < nodes(); ++node) {
        const bool is_last = node + 1 == nodes();
        if (is_last ? size_of(node) > size : size_of(node) != size) return 0;
    }
    return size;
}

}  // namespace selion::collectives
