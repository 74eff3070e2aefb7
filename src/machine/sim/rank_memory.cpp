// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/rank_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/units.hpp"
#include "machine/host/host.hpp"
#include "machine/sim/engine/stack_region.hpp"
#include "selion/error.hpp"

namespace selion::machine::sim {
namespace {

/// Wide enough for laptops' problems on few ranks; dense enough that the page tables of many ranks
/// stay small.
std::uint64_t easy_reserve(std::uint32_t ranks) {
    const std::uint64_t easy_total =
        std::min(std::uint64_t{ranks > many_ranks ? 16u : 256u} << 30, easy_address_bytes());
    constexpr std::uint64_t least = std::uint64_t{1} << 20;
    constexpr std::uint64_t most = std::uint64_t{16} << 30;
    return std::clamp(easy_total / ranks, least, most);
}

}  // namespace

rank_memory::rank_memory(std::uint32_t ranks, std::uint64_t reserve_bytes) {
    const std::uint64_t page = page_bytes();
    const std::uint64_t wanted = reserve_bytes != 0 ? reserve_bytes : easy_reserve(ranks);
    reserve_bytes_ = (wanted + page - 1) / page * page;
    // An odd number of pages: equal offsets of many ranks do not meet in one set of a cache.
    stride_bytes_ = reserve_bytes_ / page % 2 == 1 ? reserve_bytes_ : reserve_bytes_ + page;
    total_bytes_ = stride_bytes_ * ranks;
    void* const start = mmap(nullptr, total_bytes_, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        throw error(
            status::out_of_memory,
            fmt::format("cannot reserve {} of address space for each of {} simulated ranks; "
                        "set SELION_HEAP to a smaller size or use fewer ranks",
                        base::bytes_text(reserve_bytes_), ranks));
    }
    start_ = static_cast<std::byte*>(start);
    if (ranks > many_ranks) madvise(start, total_bytes_, MADV_NOHUGEPAGE);
}

rank_memory::~rank_memory() { munmap(start_, total_bytes_); }

void rank_memory::discard(std::uint32_t rank, std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t page = page_bytes();
    const std::uint64_t first = (offset + page - 1) / page * page;
    const std::uint64_t last = (offset + bytes) / page * page;
    if (first < last) madvise(slice(rank) + first, last - first, MADV_DONTNEED);
}

}  // namespace selion::machine::sim
