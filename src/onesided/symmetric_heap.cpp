// SPDX-License-Identifier: Apache-2.0
#include "onesided/symmetric_heap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/units.hpp"
#include "selion/global_ptr.hpp"

namespace selion::onesided {
namespace {

/// Whole multiples of the alignment; never nothing, so that every allocation has its own address.
std::uint64_t padded(std::uint64_t bytes, std::uint64_t alignment) {
    return (std::max<std::uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
}

/// Allocations that fill a cache line do not share one with their neighbours.
std::uint64_t effective_alignment(std::uint64_t bytes, std::uint64_t alignment) {
    const std::uint64_t least = bytes >= 64 ? 64 : smallest_alignment;
    return std::max(alignment, least);
}

/// Freed ranges from this size on go back to the operating system at once.
constexpr std::uint64_t release_bytes = 1 << 20;

}  // namespace

symmetric_heap::symmetric_heap(detail::rank_context& context, std::uint64_t runtime_bytes)
    : context_(context),
      runtime_bytes_(runtime_bytes),
      top_(context.reserve_bytes / largest_alignment * largest_alignment) {
    runtime_used_bytes_ = padded(runtime_bytes, largest_alignment);
    symmetric_.allocate(runtime_used_bytes_, largest_alignment, top_);
}

/// Completion handlers may run on a thread beside the rank's own.
class symmetric_heap::turn {
public:
    explicit turn(const symmetric_heap& heap) : used_(heap.is_used_) {
        // acquire and release: what the one before has changed [heap.turn]
        while (used_.test_and_set(std::memory_order_acquire)) {
            used_.wait(true, std::memory_order_relaxed);
        }
    }
    ~turn() {
        used_.clear(std::memory_order_release);  // [heap.turn]
        used_.notify_one();
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

private:
    std::atomic_flag& used_;
};

std::optional<std::uint64_t> symmetric_heap::allocate_symmetric(std::uint64_t bytes,
                                                                std::uint64_t alignment) {
    const turn mine(*this);
    if (bytes > top_) return std::nullopt;
    const std::uint64_t aligned = effective_alignment(bytes, alignment);
    const std::uint64_t size = padded(bytes, aligned);
    if (!context_.host->memory().commit(size)) return std::nullopt;
    const auto range = symmetric_.allocate(size, aligned, top_ - own_.frontier());
    if (!range) {
        context_.host->memory().release(size);
        return std::nullopt;
    }
    // Beyond the frontier lies fresh memory, unless the other side once came so far.
    if (range->was_used || range->start + size > top_ - own_.highest()) clear(range->start, size);
    return range->start;
}

std::optional<std::uint64_t> symmetric_heap::allocate_own(std::uint64_t bytes,
                                                          std::uint64_t alignment) {
    const turn mine(*this);
    return take_own(bytes, alignment);
}

std::optional<std::uint64_t> symmetric_heap::take_own(std::uint64_t bytes,
                                                      std::uint64_t alignment) {
    if (bytes > top_) return std::nullopt;
    const std::uint64_t aligned = effective_alignment(bytes, alignment);
    const std::uint64_t size = padded(bytes, aligned);
    if (!context_.host->memory().commit(size)) return std::nullopt;
    const auto range = own_.allocate(size, aligned, top_ - symmetric_.frontier());
    if (!range) {
        context_.host->memory().release(size);
        return std::nullopt;
    }
    const std::uint64_t offset = top_ - range->start - size;
    own_starts_[offset] = range->start;
    if (range->was_used || offset < symmetric_.highest()) clear(offset, size);
    return offset;
}

bool symmetric_heap::deallocate_symmetric(std::uint64_t offset) {
    const turn mine(*this);
    if (offset < runtime_bytes_) return false;
    const auto bytes = symmetric_.deallocate(offset);
    if (bytes) give_back(offset, *bytes);
    return bytes.has_value();
}

bool symmetric_heap::deallocate_own(std::uint64_t offset) {
    const turn mine(*this);
    return return_own(offset);
}

bool symmetric_heap::return_own(std::uint64_t offset) {
    const auto place = own_starts_.find(offset);
    if (place == own_starts_.end()) return false;
    give_back(offset, *own_.deallocate(place->second));
    own_starts_.erase(place);
    return true;
}

std::optional<std::uint64_t> symmetric_heap::allocate_for_runtime(std::uint64_t bytes) {
    const std::uint64_t size = padded(bytes, detail::line_bytes);
    const turn mine(*this);
    const auto offset = take_own(size, detail::line_bytes);
    if (offset) runtime_used_bytes_ += size;
    return offset;
}

void symmetric_heap::deallocate_for_runtime(std::uint64_t offset, std::uint64_t bytes) {
    const turn mine(*this);
    if (return_own(offset)) runtime_used_bytes_ -= padded(bytes, detail::line_bytes);
}

void symmetric_heap::clear(std::uint64_t offset, std::uint64_t bytes) {
    const global_ptr<std::byte> start(rank_id(context_.rank), offset);
    std::memset(start.local(), 0, bytes);
}

void symmetric_heap::give_back(std::uint64_t offset, std::uint64_t bytes) {
    context_.host->memory().release(bytes);
    if (bytes >= release_bytes) context_.host->memory().discard(context_, offset, bytes);
}

std::uint64_t symmetric_heap::used_bytes() const {
    const turn mine(*this);
    return symmetric_.used_bytes() + own_.used_bytes() - runtime_used_bytes_;
}

std::uint64_t symmetric_heap::free_bytes() const {
    const turn mine(*this);
    const std::uint64_t reserved = top_ - symmetric_.frontier() - own_.frontier();
    const machine::memory& memory = context_.host->memory();
    return std::min(reserved, memory.limit_bytes() - memory.committed_bytes());
}

std::uint64_t symmetric_heap::free_bytes_in_one_piece(heap_end end) const {
    const turn mine(*this);
    const std::uint64_t between = top_ - symmetric_.frontier() - own_.frontier();
    const std::uint64_t gap =
        end == heap_end::symmetric ? symmetric_.largest_gap() : own_.largest_gap();
    const machine::memory& memory = context_.host->memory();
    return std::min(std::max(between, gap), memory.limit_bytes() - memory.committed_bytes());
}

std::uint64_t symmetric_heap::reachable_bytes() const {
    if (!context_.host->memory().is_of_each_rank()) return top_;
    const std::uint64_t free = free_bytes();
    const turn mine(*this);
    return std::min(top_, symmetric_.used_bytes() + own_.used_bytes() + free);
}

bool symmetric_heap::lacks_memory(std::uint64_t bytes) const {
    const machine::memory& memory = context_.host->memory();
    const std::uint64_t limit = memory.limit_bytes();
    return limit - std::min(limit, memory.committed_bytes()) < bytes;
}

std::string symmetric_heap::cure_text(std::uint64_t bytes, std::string_view besides) const {
    if (!lacks_memory(bytes)) return fmt::format("set SELION_HEAP to reserve more, or {}", besides);
    const machine::memory& memory = context_.host->memory();
    const std::uint64_t limit = memory.limit_bytes();
    if (memory.is_of_each_rank()) {
        return fmt::format(
            "{}, or give each rank more than {}: memory.each_rank_kib= of the "
            "simulated machine",
            besides, base::bytes_text(limit));
    }
    return fmt::format("{}: the machine has {} in all, and no setting gives more", besides,
                       base::bytes_text(limit));
}

std::string symmetric_heap::shortage_text(std::uint64_t bytes, heap_end end) const {
    const machine::memory& memory = context_.host->memory();
    const char* const who = memory.is_of_each_rank() ? "it has" : "all ranks of this host use";
    return fmt::format(
        "out of symmetric memory: rank {} of {} asks for {}; it uses {}, and the runtime {}, of "
        "the {} reserved for it, {} are free in one piece; {} {} of {}; {}",
        context_.rank, context_.ranks, base::bytes_text(bytes), base::bytes_text(used_bytes()),
        base::bytes_text(runtime_used_bytes_), base::bytes_text(reachable_bytes()),
        base::bytes_text(free_bytes_in_one_piece(end)), who,
        base::bytes_text(memory.committed_bytes()), base::bytes_text(memory.limit_bytes()),
        cure_text(bytes, "ask for less"));
}

}  // namespace selion::onesided
