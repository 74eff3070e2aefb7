// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace selion::coherence {

/// Some ranks, in order.
class rank_set {
public:
    bool contains(std::uint32_t rank) const { return std::ranges::binary_search(ranks_, rank); }
    bool empty() const { return ranks_.empty(); }
    std::size_t size() const { return ranks_.size(); }
    void insert(std::uint32_t rank) {
        const auto place = std::ranges::lower_bound(ranks_, rank);
        if (place == ranks_.end() || *place != rank) ranks_.insert(place, rank);
    }
    void erase(std::uint32_t rank) {
        const auto place = std::ranges::lower_bound(ranks_, rank);
        if (place != ranks_.end() && *place == rank) ranks_.erase(place);
    }
    void clear() { ranks_.clear(); }
    auto begin() const { return ranks_.begin(); }
    auto end() const { return ranks_.end(); }

private:
    std::vector<std::uint32_t> ranks_;
};

}  // namespace selion::coherence
