// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace study {

/// How many calls are timed together. A block lasts at least 20 us, of which a clock that is read
/// in about 20 ns is 0.1 %; and as long as fifty calls that stand alone, since what ends a block,
/// as the quiet after puts does, is no part of each call; but at most about 2 ms.
/// @param shortest_ns takes a number of calls and returns what a block of them takes, in
///     nanoseconds, without what happens to disturb it; where several ranks time a block
///     together, the same on each of them.
template <class Shortest>
std::uint64_t calls_per_block(const Shortest& shortest_ns) {
    constexpr std::int64_t shortest_block_ns = 20'000;
    constexpr std::int64_t longest_block_ns = 2'000'000;
    constexpr std::int64_t single_calls = 50;
    constexpr std::uint64_t most_calls = std::uint64_t{1} << 24;  // for calls that take no time
    const std::int64_t block_ns = std::clamp(single_calls * shortest_ns(std::uint64_t{1}),
                                             shortest_block_ns, longest_block_ns);
    std::uint64_t count = 1;
    while (count < most_calls && shortest_ns(count) < block_ns) count *= 2;
    return count;
}

}  // namespace study
