// SPDX-License-Identifier: Apache-2.0
#include "collectives/segment_copies.hpp"

#include <algorithm>
#include <bit>

#include "onesided/symmetric_heap.hpp"
#include "selion/detail/global_address.hpp"

namespace selion::collectives {
namespace {

constexpr std::uint64_t small_bytes = 16 * 1024;  ///< of a piece that is kept in any case
/// Large pieces together, as a part of what the heap has left: it is the program's.
constexpr std::uint64_t kept_part = 64;

}  // namespace

segment_copies::~segment_copies() {
    for (const piece& one : pieces_) context_.heap->deallocate_for_runtime(one.offset, one.bytes);
}

std::optional<std::uint64_t> segment_copies::take(std::size_t bytes) {
    const auto free = [&](const piece& one) { return !one.is_taken && one.bytes >= bytes; };
    auto found = std::ranges::find_if(pieces_, free);
    if (found == pieces_.end()) {
        // A little more, so that a message that grows does not take a new piece each time.
        const std::uint64_t size =
            bytes > small_bytes ? bytes : std::bit_ceil(std::max<std::uint64_t>(bytes, 4096));
        const auto offset = context_.heap->allocate_for_runtime(size);
        if (!offset) return std::nullopt;
        found = pieces_.insert(pieces_.end(), {*offset, size, false});
    }
    found->is_taken = true;
    return detail::global_address(context_.rank, found->offset);
}

void segment_copies::reuse() {
    std::uint64_t large_bytes = 0;
    for (piece& one : pieces_) {
        one.is_taken = false;
        if (one.bytes > small_bytes) large_bytes += one.bytes;
    }
    if (large_bytes == 0) return;
    const std::uint64_t most = std::min(most_kept_bytes, context_.heap->free_bytes() / kept_part);
    std::erase_if(pieces_, [&](const piece& one) {
        if (large_bytes <= most || one.bytes <= small_bytes) return false;
        large_bytes -= one.bytes;
        context_.heap->deallocate_for_runtime(one.offset, one.bytes);
        return true;
    });
}

}  // namespace selion::collectives
