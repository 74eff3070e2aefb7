// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace selion::machine::sim {

/// With more ranks than this, page tables and caches count more than room to grow.
constexpr std::uint32_t many_ranks = 1024;

/// Stacks of all ranks in one mapping. Pages appear when touched. Below a stack lies memory
/// that nobody may touch, a page where ranks are many; each such guard splits the mapping, and the
/// kernel limits mappings (vm.max_map_count), so only the first `guarded()` ranks have one. The
/// others have a page that nobody writes to as long as their stack is long enough.
class stack_region {
public:
    /// @param stack_bytes of each rank, rounded up to whole pages.
    /// @error out_of_memory as an `error` that names SELION_STACK.
    stack_region(std::uint32_t ranks, std::size_t stack_bytes);
    ~stack_region();
    stack_region(const stack_region&) = delete;
    stack_region& operator=(const stack_region&) = delete;

    /// Without the guard page; ranks' tops are shifted against each other by cache lines, so that
    /// ranks that stop at the same depth do not meet in one set of the first-level cache.
    std::span<std::byte> stack(std::uint32_t rank) const;
    std::uint32_t guarded() const { return guarded_; }
    /// Whether a rank without a guard has written below its stack, as far as two lines of that page
    /// show it. @cost reads of a page that all such ranks have in common as long as it is empty.
    bool is_overrun(std::uint32_t rank) const;
    std::size_t stack_bytes() const;  ///< of each, at most

private:
    std::byte* start_;
    std::size_t guard_;
    std::size_t stride_;
    std::uint32_t ranks_;
    std::uint32_t guarded_ = 0;
};

}  // namespace selion::machine::sim
