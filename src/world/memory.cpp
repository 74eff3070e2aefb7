// SPDX-License-Identifier: Apache-2.0
#include "selion/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/units.hpp"
#include "machine/call_record.hpp"
#include "meters/record/recorder.hpp"
#include "onesided/deaths.hpp"
#include "onesided/release_observers.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/error.hpp"
#include "selion/expect.hpp"
#include "selion/reduction.hpp"
#include "world/compared_calls.hpp"
#include "world/world_state.hpp"

namespace selion::detail {
namespace {

using machine::operation;
using onesided::largest_alignment;

std::uint64_t checked_bytes(const allocation_request& request, std::source_location site) {
    SELION_EXPECT_AT(
        std::has_single_bit(request.alignment) && request.alignment <= largest_alignment, site,
        fmt::format("allocate: an alignment of {} is not a power of two up to {}",
                    request.alignment, largest_alignment));
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(request.count, request.element_bytes, &bytes) ||
        bytes > offset_mask) {
        throw error(status::out_of_memory,
                    fmt::format("allocate: {} do not fit into a rank's address range of {}",
                                request.element_bytes == 1
                                    ? fmt::format("{} bytes", request.count)
                                    : fmt::format("{} elements of {} bytes", request.count,
                                                  request.element_bytes),
                                base::bytes_text(offset_mask + 1)));
    }
    return bytes;
}

enum shortage_kind : std::uint16_t {
    no_shortage,
    short_of_range,   ///< what is reserved for the rank
    short_of_memory,  ///< what its host has
};

/// What all ranks must agree on before a symmetric allocation counts.
struct agreement {
    std::uint64_t most_bytes;
    std::uint64_t least_bytes;
    std::uint64_t highest_offset;
    std::uint64_t lowest_offset;
    std::uint32_t worst_rank;  ///< of those that have no room
    std::uint16_t shortage;    ///< that rank's: a `shortage_kind`
    std::uint8_t most_alignment;
    std::uint8_t least_alignment;  ///< their binary logarithms
};
static_assert(sizeof(agreement) == 40);

agreement agree(rank_context& context, const agreement& mine) {
    constexpr auto both = [](const agreement& a, const agreement& b) {
        return agreement{std::max(a.most_bytes, b.most_bytes),
                         std::min(a.least_bytes, b.least_bytes),
                         std::max(a.highest_offset, b.highest_offset),
                         std::min(a.lowest_offset, b.lowest_offset),
                         a.shortage != no_shortage ? a.worst_rank : b.worst_rank,
                         a.shortage != no_shortage ? a.shortage : b.shortage,
                         std::max(a.most_alignment, b.most_alignment),
                         std::min(a.least_alignment, b.least_alignment)};
    };
    agreement all = mine;
    state_of(context).everybody.combine(reinterpret_cast<std::byte*>(&all), 1,
                                        erase_reduction<agreement>(both));
    return all;
}

/// Together: gives back what the runtime keeps of teams that all have let go.
void end_teams(rank_context& context) {
    world_state& state = state_of(context);
    state.started.let_go();
    state.teams->settle_together(
        [&] { state.everybody.meeting().synchronise(machine::wait_reason::collective); });
}

error shortage(rank_context& context, std::string_view what, std::uint64_t bytes) {
    const auto end = what == "allocate" ? onesided::heap_end::symmetric : onesided::heap_end::own;
    return {status::out_of_memory,
            state_of(context).heap.shortage_text(bytes, end),
            {.rank = context.rank, .peer = {}, .operation = std::string(what), .bytes = bytes}};
}

/// All ranks meet: they must not be in different collectives.
void expect_whole(rank_context& context, std::string_view what, std::source_location site) {
    SELION_EXPECT_AT(!state_of(context).everybody.is_broken(), site,
                     fmt::format("{}, which all ranks do together, after a collective of all ranks "
                                 "has ended in an error: they may be in different ones; what may "
                                 "fail is for a team of its own, such as world.split(0)",
                                 what));
    SELION_EXPECT_AT(!state_of(context).everybody.has_arrived(), site,
                     fmt::format("{}, which all ranks do together, between arrive() and wait() of "
                                 "the world",
                                 what));
}

/// @param bits what each gives back. @return false: a rank has died, so the memory stays what it
/// is; by destructors, who must not hear of it.
bool meets_all(rank_context& context, std::uint64_t bits, std::source_location site) {
    if (context.deaths != nullptr && context.deaths->declared() != 0) return false;
    try {
        collectives::call_signature mine = signature_of(operation::deallocate);
        mine.count = bits & offset_mask;
        compare_call(*current_context, state_of(context).everybody, mine, site);
        state_of(context).everybody.meeting().synchronise(machine::wait_reason::collective);
    } catch (const error& trouble) {
        if (trouble.code() != status::rank_dead) throw;
        return false;
    }
    return true;
}

}  // namespace

std::uint64_t allocate_symmetric(rank_context& context, const allocation_request& request,
                                 std::source_location site) {
    expect_may_wait(context, "allocate", site);
    expect_not_in_completion(*current_context, operation::allocate, site);
    release_writes(context, site);
    const machine::call_scope scope(context, operation::allocate, site);
    const std::uint64_t bytes = checked_bytes(request, site);
    expect_whole(context, "allocate", site);
    onesided::expect_alive(context, state_of(context).everybody.members(), "allocate");
    compare_call(*current_context, operation::allocate, site);
    onesided::symmetric_heap& heap = state_of(context).heap;
    std::optional<std::uint64_t> offset;
    const auto alignment = static_cast<std::uint8_t>(std::countr_zero(request.alignment));
    const auto ask = [&] {
        if (!offset) offset = heap.allocate_symmetric(bytes, request.alignment);
        const std::uint64_t own_offset = offset.value_or(0);
        const std::uint16_t own_shortage = offset                     ? no_shortage
                                           : heap.lacks_memory(bytes) ? short_of_memory
                                                                      : short_of_range;
        return agree(context, {bytes, bytes, own_offset, own_offset, context.rank, own_shortage,
                               alignment, alignment});
    };
    agreement all = ask();
    if (all.shortage != no_shortage && all.most_bytes == all.least_bytes) {
        end_teams(context);
        all = ask();
    }
    SELION_EXPECT_AT(all.most_bytes == all.least_bytes, site,
                     fmt::format("allocate is collective and symmetric, but one rank asks for {} "
                                 "bytes and another for {} (this one for {})",
                                 all.most_bytes, all.least_bytes, bytes));
    SELION_EXPECT_AT(
        all.most_alignment == all.least_alignment, site,
        fmt::format("allocate is collective and symmetric, but one rank asks for an "
                    "alignment of {} and another for {} (this one for {})",
                    1u << all.most_alignment, 1u << all.least_alignment, request.alignment));
    SELION_EXPECT_AT(all.shortage != no_shortage || all.highest_offset == all.lowest_offset, site,
                     fmt::format("allocate is symmetric, but one rank's memory would start at "
                                 "offset {} and another's at {}: the ranks have not given the same "
                                 "allocations back with deallocate",
                                 all.lowest_offset, all.highest_offset));
    if (all.shortage == no_shortage) return global_address(context.rank, *offset);
    error trouble = shortage(context, "allocate", bytes);
    if (!offset) throw trouble;
    heap.deallocate_symmetric(*offset);
    throw error(status::out_of_memory,
                fmt::format("out of symmetric memory: rank {} has no room for {} more (this rank "
                            "has); {}",
                            all.worst_rank, base::bytes_text(bytes),
                            all.shortage == short_of_memory
                                ? "ask for less: its host has no more memory for the job, and no "
                                  "setting gives more"
                                : "set SELION_HEAP to reserve more, or ask for less"));
}

void deallocate_symmetric(rank_context& context, std::uint64_t bits, std::source_location site) {
    if (bits == null_address) return;
    expect_may_wait(context, "deallocate", site);
    expect_not_in_completion(*current_context, operation::deallocate, site);
    release_writes(context, site);
    const machine::call_scope scope(context, operation::deallocate, site);
    expect_whole(context, "deallocate", site);
    // Nobody's last access may fall into memory that is already someone else's.
    let_handlers_return(context);
    if (!meets_all(context, bits, site)) return;
    const bool was_live = state_of(context).heap.deallocate_symmetric(bits & offset_mask);
    SELION_EXPECT_AT(was_live, site,
                     fmt::format("deallocate: no live collective allocation starts at offset {}",
                                 bits & offset_mask));
    if (context.recorder != nullptr) context.recorder->begin_era();
}

std::uint64_t allocate_own(rank_context& context, const allocation_request& request,
                           std::source_location site) {
    const std::uint64_t bytes = checked_bytes(request, site);
    world_state& state = state_of(context);
    auto offset = state.heap.allocate_own(bytes, request.alignment);
    if (!offset) {
        state.teams->settle_if_alone();
        offset = state.heap.allocate_own(bytes, request.alignment);
    }
    if (!offset) throw shortage(context, "allocate_local", bytes);
    return global_address(context.rank, *offset);
}

void deallocate_own(rank_context& context, std::uint64_t bits, std::source_location site) {
    if (bits == null_address) return;
    const std::uint32_t rank = rank_of(bits);
    SELION_EXPECT_AT(rank == context.rank, site,
                     fmt::format("deallocate_local: the memory belongs to rank {}; only the rank "
                                 "that allocated it gives it back",
                                 rank));
    const bool was_live = state_of(context).heap.deallocate_own(bits & offset_mask);
    SELION_EXPECT_AT(was_live, site,
                     fmt::format("deallocate_local: no live allocation of this rank starts at "
                                 "offset {}",
                                 bits & offset_mask));
}

}  // namespace selion::detail
