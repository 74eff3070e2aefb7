// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <selion/detail/rank_context.hpp>

namespace selion::coherence {
class coherent_part;
}

namespace selion::detail {

inline constexpr std::uint64_t no_block = ~std::uint64_t{0};

/// Where a block lies that the rank may use at once. A block's number is its global address without
/// the bits of places within it.
struct block_place {
    std::uint64_t readable = no_block;  ///< its number, if it may be read
    std::uint64_t writable = no_block;  ///< its number, if it may be written
    std::uint64_t distance = 0;         ///< from global addresses to where the bytes are here
    std::uint64_t is_untouched = 0;     ///< the rank's own, and no other has ever had it
};

/// How inline accesses find coherent memory: some of the blocks that the rank may use, in a small
/// table, so that a hit is one look and no call. Lies in symmetric memory.
struct alignas(line_bytes) block_view {
    /// Of the table's size; 0: its first place, which is always empty. Who has sent the rank a
    /// message sets it to 0, so that a rank that only hits looks after its messages.
    std::uint64_t mask;
    std::uint64_t block_bits;  ///< in a place within a block
    const block_place* places;
    coherence::coherent_part* part;
    bool is_direct;  ///< every rank's memory is mapped, and no copies are kept

    static constexpr std::uint64_t hash_of(std::uint64_t block) {
        return (block * 0x9e3779b97f4a7c15) >> 32;  // 2^64 by the golden ratio
    }
    const block_place& place_of(std::uint64_t block) const noexcept {
        auto& size = const_cast<std::uint64_t&>(mask);
        return places[hash_of(block) & std::atomic_ref(size).load(std::memory_order_relaxed)];
    }
    /// @return where the rank may read a byte now; null: it has to ask.
    const std::byte* readable(std::uint64_t bits) const noexcept {
        const std::uint64_t block = bits >> block_bits;
        const block_place& place = place_of(block);
        if (place.readable != block) [[unlikely]]
            return nullptr;
        return reinterpret_cast<const std::byte*>(bits + place.distance);
    }
    std::byte* writable(std::uint64_t bits) const noexcept {
        const std::uint64_t block = bits >> block_bits;
        const block_place& place = place_of(block);
        if (place.writable != block) [[unlikely]]
            return nullptr;
        return reinterpret_cast<std::byte*>(bits + place.distance);
    }
    /// Whether bytes lie in one block.
    bool holds(std::uint64_t bits, std::size_t bytes) const noexcept {
        return bits >> block_bits == (bits + bytes - 1) >> block_bits;
    }
};

}  // namespace selion::detail
