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

/// Where a block lies that the rank may use at once. A block's number is its global address without
/// the bits of places within it.
struct block_place {
    static constexpr std::uint64_t writable = 1;
    static constexpr unsigned number_shift = 1;
    static constexpr std::uint64_t nothing = ~std::uint64_t{0};

    std::uint64_t tag = nothing;  ///< the number, and whether it may be written
    std::uint64_t distance = 0;   ///< from global addresses to where the bytes are here

    bool is_of(std::uint64_t block) const noexcept { return tag >> number_shift == block; }
    bool may_write(std::uint64_t block) const noexcept {
        return tag == (block << number_shift | writable);
    }
};

/// What the rank may do with a block of its own at once; zeroed memory is right for all of them.
enum class own_state : std::uint8_t {
    untouched,  ///< all; no other rank has ever had it
    writable,
    readable,
    elsewhere,  ///< nothing
};

/// How inline accesses find coherent memory: a state for each of the rank's own blocks, and some of
/// those that it has copies of, in a small table. So a hit is one look and no call. Lies in
/// symmetric memory.
struct alignas(line_bytes) block_view {
    /// Of even places in the table; 0: its first two, which are always empty. Who has sent the rank
    /// a message sets it to 0, so that a rank that only hits looks after its messages.
    std::uint64_t mask;
    std::uint64_t own_bytes;   ///< of the space; 0 when `mask` is
    std::uint64_t own_first;   ///< global address of the first one
    std::byte* own_memory;     ///< where that lies
    const own_state* states;   ///< of own blocks
    std::uint64_t block_bits;  ///< in a place within a block
    const block_place* places;
    coherence::coherent_part* part;
    bool is_direct;    ///< every rank's memory is mapped, and no copies are kept
    bool has_updates;  ///< others get what the rank writes at its next release

    static constexpr std::uint64_t hash_of(std::uint64_t block) {
        return (block * 0x9e3779b97f4a7c15) >> 32;  // 2^64 by the golden ratio
    }
    /// Two places beside each other, in one of which the block stands if it is there.
    const block_place* places_of(std::uint64_t block) const noexcept {
        auto& size = const_cast<std::uint64_t&>(mask);
        return places + (hash_of(block) & std::atomic_ref(size).load(std::memory_order_relaxed));
    }
    /// @return where the rank may read a byte now; null: it has to ask.
    const std::byte* readable(std::uint64_t bits) const noexcept {
        const std::uint64_t offset = bits - own_first;
        if (offset < own_bytes_now()) {
            const bool may = states[offset >> block_bits] <= own_state::readable;
            return may ? own_memory + offset : nullptr;
        }
        const std::uint64_t block = bits >> block_bits;
        const block_place* place = places_of(block);
        if (!place->is_of(block)) [[unlikely]] {
            if (!(++place)->is_of(block)) return nullptr;
        }
        return reinterpret_cast<const std::byte*>(bits + place->distance);
    }
    std::byte* writable(std::uint64_t bits) const noexcept {
        const std::uint64_t offset = bits - own_first;
        if (offset < own_bytes_now()) {
            const bool may = states[offset >> block_bits] <= own_state::writable;
            return may ? own_memory + offset : nullptr;
        }
        const std::uint64_t block = bits >> block_bits;
        const block_place* place = places_of(block);
        if (!place->may_write(block)) [[unlikely]] {
            if (!(++place)->may_write(block)) return nullptr;
        }
        return reinterpret_cast<std::byte*>(bits + place->distance);
    }
    /// Whether bytes lie in one block.
    bool holds(std::uint64_t bits, std::size_t bytes) const noexcept {
        return bits >> block_bits == (bits + bytes - 1) >> block_bits;
    }

private:
    std::uint64_t own_bytes_now() const noexcept {
        auto& bytes = const_cast<std::uint64_t&>(own_bytes);
        return std::atomic_ref(bytes).load(std::memory_order_relaxed);
    }
};

}  // namespace selion::detail
