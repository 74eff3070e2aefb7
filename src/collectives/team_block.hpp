// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "selion/detail/rank_context.hpp"
#include "selion/detail/shared_word.hpp"

namespace selion::collectives {

/// A word with two lines to itself: one writer's or one meeting point's.
struct alignas(detail::line_bytes) lonely_word {
    detail::shared_word word;
};

/// What a rank is about to do, for the checking build to compare.
struct call_signature {
    std::uint64_t what;  ///< a `machine::operation`
    std::uint64_t site;
    std::uint64_t count;
    std::uint64_t element_bytes;
    std::uint64_t type_hash;
    std::uint64_t root;

    bool agrees_with(const call_signature& other) const {
        return what == other.what && count == other.count && element_bytes == other.element_bytes &&
               type_hash == other.type_hash && root == other.root;
    }
};

inline constexpr std::size_t slot_bytes = 32 * 1024;
/// A rank that writes one slot is at most one collective ahead of a rank that still reads the
/// other.
inline constexpr std::size_t slot_sets = 2;

/// Each rank's part of the state of a team, at the start of its segment 0. All zero is the initial
/// state. Counters only grow, so nothing is ever reset while somebody may look.
struct team_block {
    lonely_word arrivals;        ///< in rank 0: carriers (or ranks) that have arrived, ever
    lonely_word group_arrivals;  ///< in a group's first rank: its ranks that have arrived, ever
    lonely_word group_release;   ///< in a group's first rank: the last round that is complete
    lonely_word rounds[detail::rank_bits];  ///< dissemination: signals received in each round, ever
    alignas(detail::line_bytes) call_signature signatures[slot_sets];
    alignas(detail::line_bytes) std::byte slots[slot_sets][slot_bytes];
};

/// Where a rank's block starts in its segment 0. Ranks differ, so that the same word of many blocks
/// does not meet in one set of a first-level cache (whose sets repeat every page).
constexpr std::uint64_t block_offset(std::uint32_t rank) {
    constexpr std::uint64_t places = 4096 / detail::line_bytes;
    return rank % places * detail::line_bytes;
}

/// Bytes of segment 0 that blocks may lie in.
inline constexpr std::uint64_t runtime_bytes = sizeof(team_block) + 4096;

}  // namespace selion::collectives
