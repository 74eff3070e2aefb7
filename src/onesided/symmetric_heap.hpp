// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "machine/machine.hpp"
#include "onesided/extent_allocator.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::onesided {

inline constexpr std::uint64_t largest_alignment = 4096;
inline constexpr std::uint64_t smallest_alignment = 16;

/// What this floor keeps in each rank's heap, behind what the floors above keep there: the
/// counter of stores, in a line of its own.
inline constexpr std::uint64_t block_bytes = detail::line_bytes;

/// From which end of the segment an allocation is taken.
enum class heap_end { symmetric, own };

/// One rank's heap. Symmetric allocations grow up from its start, those of the rank alone grow
/// down from its end, until the two meet. Bookkeeping lies outside the segment: no stray put harms
/// it. Threads of the rank take turns.
class symmetric_heap {
public:
    /// @param runtime_bytes at the start of the segment, kept for the floors above.
    symmetric_heap(detail::rank_context& context, std::uint64_t runtime_bytes);

    /// Zeroed memory. @return its offset, or nothing when it does not fit.
    std::optional<std::uint64_t> allocate_symmetric(std::uint64_t bytes, std::uint64_t alignment);
    std::optional<std::uint64_t> allocate_own(std::uint64_t bytes, std::uint64_t alignment);
    /// @return whether an allocation of that kind started there.
    bool deallocate_symmetric(std::uint64_t offset);
    bool deallocate_own(std::uint64_t offset);

    /// The same for what the runtime itself needs: it is not counted among what is used.
    std::optional<std::uint64_t> allocate_for_runtime(std::uint64_t bytes);
    void deallocate_for_runtime(std::uint64_t offset, std::uint64_t bytes);

    std::uint64_t used_bytes() const;
    std::uint64_t runtime_used_bytes() const { return runtime_used_bytes_; }
    std::uint64_t reserved_bytes() const { return top_; }
    /// What the rank's allocations and the runtime's can grow to: that, or less where the machine
    /// has less for each rank.
    std::uint64_t reachable_bytes() const;
    /// What is used, free and asked for, and what to change, in one sentence.
    /// Whether it is not what is reserved that is too little, but what the host has.
    bool lacks_memory(std::uint64_t bytes) const;
    std::string shortage_text(std::uint64_t bytes, heap_end end = heap_end::own) const;
    /// What to do: "set SELION_HEAP to reserve more, or ask for less". Where the machine has no
    /// more, what helps besides.
    std::string cure_text(std::uint64_t bytes, std::string_view besides) const;
    /// What this rank can still allocate, beside what was given back before.
    std::uint64_t free_bytes() const;

private:
    class turn;
    std::uint64_t free_bytes_in_one_piece(heap_end end) const;
    std::optional<std::uint64_t> take_own(std::uint64_t bytes, std::uint64_t alignment);
    bool return_own(std::uint64_t offset);
    void clear(std::uint64_t offset, std::uint64_t bytes);
    void give_back(std::uint64_t offset, std::uint64_t bytes);

    detail::rank_context& context_;
    mutable std::atomic_flag is_used_;  ///< where the rank has several threads
    std::uint64_t runtime_bytes_;
    std::uint64_t runtime_used_bytes_ = 0;  ///< allocated for the runtime
    std::uint64_t top_;
    extent_allocator symmetric_;
    extent_allocator own_;                               ///< counts distance from the top
    std::map<std::uint64_t, std::uint64_t> own_starts_;  ///< offset to distance
};

}  // namespace selion::onesided
