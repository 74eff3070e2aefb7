// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <selion/rank.hpp>

namespace selion {

/// A block for each member of a team, one behind the other, that may differ in length.
template <class T>
    requires(!std::is_same_v<T, bool>)
struct varying_blocks {
    std::vector<T> values = {};            ///< all
    std::vector<std::size_t> starts = {};  ///< of each block in `values`, and the end of the last

    varying_blocks() = default;
    explicit varying_blocks(std::vector<std::size_t> where)
        : values(where.back()), starts(std::move(where)) {}

    /// Empty where there are no blocks. @param member 0 .. size of the team - 1.
    std::span<const T> of(team_rank member) const {
        if (starts.empty()) return {};
        return std::span(values).subspan(starts[member], starts[member + 1] - starts[member]);
    }
};

namespace detail {

/// Vectors of bool are no memory that others could write to.
template <class T>
using stored = std::conditional_t<std::is_same_v<T, bool>, char, T>;
template <class T>
std::vector<T> values_of(std::vector<stored<T>>&& all) {
    if constexpr (std::is_same_v<T, bool>) {
        return {all.begin(), all.end()};
    } else {
        return std::move(all);
    }
}

/// Where blocks of some lengths start, and the longest.
struct block_lengths {
    std::vector<std::size_t> starts;
    std::size_t most;
};
inline block_lengths lengths(std::span<const std::size_t> counts) {
    block_lengths all{{0}, 0};
    for (const std::size_t count : counts) {
        all.starts.push_back(all.starts.back() + count);
        all.most = std::max(all.most, count);
    }
    return all;
}

}  // namespace detail
}  // namespace selion
