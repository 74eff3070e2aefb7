// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <selion/cached.hpp>
#include <selion/detail/export.hpp>

namespace selion {

/// What the accesses to one array would have cost with blocks of one size: of the protocol by
/// invalidation, with room for all copies.
struct replayed_array {
    std::string array;  ///< empty: bytes of the space that belong to none
    std::size_t block_bytes = 0;
    std::uint64_t accesses = 0;
    std::uint64_t remote_accesses = 0;
    // Misses by cause; an access of several blocks can miss each of them.
    std::uint64_t cold = 0;
    std::uint64_t invalidated = 0;  ///< another rank has written what is wanted
    std::uint64_t false_sharing =
        0;                       ///< another rank has written the block, but not what is wanted
    std::uint64_t upgrades = 0;  ///< writes to a block that could be read
    std::uint64_t at_home = 0;   ///< of own blocks that others have
    std::uint64_t messages = 0;
    std::uint64_t moved_bytes = 0;  ///< of blocks in messages

    std::uint64_t misses() const noexcept {
        return cold + invalidated + false_sharing + upgrades + at_home;
    }
};

/// A space of which there are traces.
struct replayed_space {
    std::uint64_t run = 0;     ///< of the program: its first `selion::run` is 1
    std::uint64_t number = 0;  ///< spaces that the run has made before it
    std::uint32_t ranks = 0;
    std::size_t block_bytes = 0;         ///< that it had
    std::uint64_t misses = 0;            ///< that it had
    std::int64_t waited_ps = 0;          ///< in them, of all ranks
    std::uint64_t left_out = 0;          ///< accesses at the end, which the traces had no room for
    bool is_whole = true;                ///< no trace ends in the middle
    std::vector<replayed_array> arrays;  ///< for each size of blocks, those that were accessed
    std::vector<selion::false_sharing> worst;  ///< blocks of the size that it had
};

/// Replays the traces that `SELION_CACHE_TRACE` has left in a folder: all ranks' accesses in the
/// order of their times, once for each size of blocks.
/// @param block_sizes powers of two from 8 to 65536; the space's own is added.
/// @param most_worst blocks in `replayed_space::worst`.
/// @error bad_argument: there are no traces, or they are no such files.
[[nodiscard]] SELION_API std::vector<replayed_space> replay_accesses(
    const std::string& folder, std::span<const std::size_t> block_sizes,
    std::size_t most_worst = 10);

}  // namespace selion
