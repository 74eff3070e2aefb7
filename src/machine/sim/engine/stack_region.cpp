// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/engine/stack_region.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/units.hpp"
#include "machine/fiber/sanitizer_fiber.hpp"
#include "machine/host/host.hpp"
#include "selion/error.hpp"

namespace selion::machine::sim {
namespace {

/// Mappings that guard pages may use: each makes two of one, and the program needs some as well.
std::uint32_t most_guards() {
    std::uint64_t limit = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> limit;
    constexpr std::uint64_t kept_for_others = 4096;
    return static_cast<std::uint32_t>(limit > kept_for_others ? (limit - kept_for_others) / 2 : 0);
}

}  // namespace

stack_region::stack_region(std::uint32_t ranks, std::size_t stack_bytes) : ranks_(ranks) {
    const std::size_t page = page_bytes();
    // Of many ranks page tables count as well.
    guard_ = ranks > many_ranks ? page : std::max<std::size_t>(stack_guard_bytes(), page);
    stride_ = (stack_bytes + page - 1) / page * page + guard_;
    const bool is_possible = stride_ > stack_bytes && stride_ <= SIZE_MAX / ranks;
    const std::uint32_t wanted = std::min(ranks, most_guards());
    // What may be written counts, also before it is guarded: where guards are large, the stacks are
    // opened instead.
    const bool opens_stacks = ranks <= many_ranks && wanted == ranks;
    void* const start =
        !is_possible
            ? MAP_FAILED
            : mmap(nullptr, stride_ * ranks, opens_stacks ? PROT_NONE : PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    const auto guard = [&](std::byte* low) {
        return opens_stacks ? mprotect(low + guard_, stride_ - guard_, PROT_READ | PROT_WRITE) == 0
                            : mprotect(low, guard_, PROT_NONE) == 0;
    };
    start_ = static_cast<std::byte*>(start);
    while (start != MAP_FAILED && guarded_ < wanted && guard(start_ + guarded_ * stride_)) {
        ++guarded_;
    }
    if (start == MAP_FAILED || (opens_stacks && guarded_ < ranks)) {
        if (start != MAP_FAILED) munmap(start, stride_ * ranks);
        const std::string limits = mapping_limits();
        throw error(status::out_of_memory,
                    fmt::format("cannot map {} stacks of {}; set SELION_STACK to a smaller size{}",
                                ranks, base::bytes_text(stack_bytes),
                                limits.empty() ? " or use fewer ranks"
                                               : ", use fewer ranks, or raise " + limits));
    }
    // Large pages would give every rank two megabytes.
    madvise(start_, stride_ * ranks, MADV_NOHUGEPAGE);
}

stack_region::~stack_region() {
    forget_frames(start_, stride_ * ranks_);
    munmap(start_, stride_ * ranks_);
}

std::size_t stack_region::stack_bytes() const { return stride_ - guard_; }

/// The lines next to its own stack and next to its neighbour's. A frame may leave out either.
bool stack_region::is_overrun(std::uint32_t rank) const {
    if (rank < guarded_) return false;
    constexpr std::size_t words = 8;
    const std::byte* const low = start_ + rank * stride_;
    const auto* const first = reinterpret_cast<const std::uint64_t*>(low);
    const auto* const last = reinterpret_cast<const std::uint64_t*>(low + guard_) - words;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < words; ++i) seen |= first[i] | last[i];
    return seen != 0;
}

std::span<std::byte> stack_region::stack(std::uint32_t rank) const {
    constexpr std::size_t line = 128;
    const std::size_t shift =
        ranks_ > many_ranks ? 0 : rank % 32 * line;  // beyond, pages count more
    return {start_ + rank * stride_ + guard_, stride_ - guard_ - shift};
}

}  // namespace selion::machine::sim
