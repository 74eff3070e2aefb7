// SPDX-License-Identifier: Apache-2.0
/// Coherent spaces: made and given back by all ranks together.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "base/knobs.hpp"
#include "base/units.hpp"
#include "coherence/coherent_parts.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/coherent_space.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/hash.hpp"
#include "selion/error.hpp"
#include "selion/expect.hpp"
#include "selion/memory.hpp"
#include "selion/reduction.hpp"
#include "selion/world.hpp"
#include "world/world_state.hpp"

namespace selion::detail {
namespace {

using coherence::coherent_part;
using coherence::coherent_parts;
using coherence::space_shape;

constexpr std::size_t least_block = 8;
constexpr std::size_t largest_block = 65536;
constexpr std::size_t largest_alignment = 4096;  ///< that allocations can have

void check_options(const cached& how) {
    const bool is_possible = std::has_single_bit(how.block_bytes) &&
                             how.block_bytes >= least_block && how.block_bytes <= largest_block;
    if (!is_possible) {
        throw error(status::bad_argument,
                    fmt::format("blocks of {} bytes: legal are powers of two from {} to {}",
                                how.block_bytes, least_block, largest_block));
    }
    if (how.capacity_bytes != 0 && how.capacity_bytes < how.block_bytes) {
        throw error(status::bad_argument,
                    fmt::format("room for {} bytes of copies holds no block of {}; 0 is for as "
                                "many as are used",
                                how.capacity_bytes, how.block_bytes));
    }
    if (how.writes == write_protocol::update && how.consistency != memory_consistency::release) {
        throw error(status::bad_argument,
                    "write_protocol::update has others see what was written when the ranks have "
                    "synchronised: it goes with memory_consistency::release");
    }
}

/// With what the environment says.
cached with_knobs(cached how) {
    if (base::knob_text(base::knob::cache_block)) {
        how.block_bytes = base::knob_bytes(base::knob::cache_block);
        if (how.capacity_bytes != 0)
            how.capacity_bytes = std::max(how.capacity_bytes, how.block_bytes);
    }
    if (base::knob_is_on(base::knob::cache_trace)) {
        // What is replayed is the protocol that promises most.
        how.protocol = cache_protocol::always;
        how.consistency = memory_consistency::sequential;
        how.writes = write_protocol::invalidate;
        how.has_statistics = true;
    }
    return how;
}

void meet(rank_context& context) {
    state_of(context).everybody.meeting().synchronise(machine::wait_reason::collective);
}

/// The largest message of the protocol must be possible.
void expect_room(const rank_context& context, const cached& how) {
    const std::size_t bytes = how.writes == write_protocol::update
                                  ? coherence::change_batches::most_bytes(how.block_bytes)
                                  : how.block_bytes;
    const std::uint64_t most = context.transport->most_message_bytes();
    if (bytes <= most) return;
    throw error(status::bad_argument,
                fmt::format("blocks of {} bytes take messages of {}, and {} are possible: set "
                            "SELION_MESSAGE_MEMORY to more than twice as much, or use smaller ones",
                            how.block_bytes, bytes, most));
}

/// Whose block's home is gone would wait for ever.
void expect_no_mortals(const rank_context& context) {
    if (context.deaths == nullptr) return;
    throw error(status::bad_argument,
                "coherent memory needs all ranks of a job, and this one goes on without those that "
                "have died: it does not go with SELION_RANK_DEATH=report");
}

void trace_accesses(rank_context& context, coherent_part& part) {
    const std::uint64_t number = coherence::parts_of(context).made() - 1;
    if (!base::knob_is_on(base::knob::cache_trace)) return;
    part.trace_into(*base::knob_text(base::knob::cache_trace), number);
}

bool keeps_writes_back(const block_view& view, const cached& how) {
    return how.consistency == memory_consistency::release && !view.is_direct;
}

/// A byte for each block, in which checking builds show it to other ranks.
std::size_t bytes_to_show(std::size_t blocks) { return SELION_CHECK_LEVEL >= 2 ? blocks : 0; }

/// Before any rank finds that what it has been given is not possible.
void expect_alike([[maybe_unused]] rank_context& context, [[maybe_unused]] std::size_t bytes,
                  [[maybe_unused]] const cached& how, [[maybe_unused]] std::source_location site) {
    if constexpr (SELION_CHECK_LEVEL >= 2) {
        std::uint64_t hash = detail::empty_hash;
        for (const std::uint64_t number :
             {std::uint64_t{bytes}, std::uint64_t{how.block_bytes},
              std::uint64_t{how.capacity_bytes}, static_cast<std::uint64_t>(how.protocol),
              static_cast<std::uint64_t>(how.consistency), static_cast<std::uint64_t>(how.writes),
              static_cast<std::uint64_t>(how.prefetch), std::uint64_t{how.prefetch_blocks},
              static_cast<std::uint64_t>(how.has_statistics)}) {
            hash = detail::number_hash(number, hash);
        }
        const world all(context);
        const std::uint64_t least = all.all_reduce(hash, minimum, site);
        const std::uint64_t most = all.all_reduce(hash, maximum, site);
        SELION_EXPECT_AT(least == most, site,
                         std::string("ranks have not given a coherent space the same bytes and "
                                     "options"));
    }
}

/// The part of a space that the caller has.
coherent_part& live_part(const block_view* view, std::source_location site) {
    expect_space(view, site);
    return *view->part;
}

}  // namespace

block_view* make_space(rank_context& context, std::size_t bytes, const cached& asked,
                       std::source_location site) {
    const cached how = with_knobs(asked);
    expect_alike(context, bytes, how, site);
    check_options(how);
    expect_room(context, how);
    expect_no_mortals(context);
    if (bytes > offset_mask) {
        throw error(status::out_of_memory,
                    fmt::format("a coherent space of {} bytes does not fit into a rank's address "
                                "range of {}",
                                bytes, base::bytes_text(offset_mask + 1)));
    }
    // The views lie in front, and blocks begin at multiples of their size.
    const std::size_t alignment =
        std::clamp(how.block_bytes, alignof(block_view), largest_alignment);
    const std::size_t whole = (bytes + how.block_bytes - 1) / how.block_bytes * how.block_bytes;
    const std::size_t shown = bytes_to_show(whole / how.block_bytes);
    const std::uint64_t start =
        allocate_symmetric(
            context,
            {sizeof(block_view) + how.block_bytes + whole + shown, sizeof(std::byte), alignment},
            site) &
        offset_mask;
    const std::uint64_t first =
        (start + sizeof(block_view) + how.block_bytes - 1) & ~(how.block_bytes - 1);
    coherent_parts& parts = coherence::parts_of(context);
    coherent_part& part = parts.make(context, {.number = parts.next_number(),
                                               .offset = first,
                                               .bytes = whole,
                                               .view_offset = start,
                                               .states_offset = shown == 0 ? 0 : first + whole,
                                               .how = how});
    trace_accesses(context, part);
    auto* const view =
        reinterpret_cast<block_view*>(mapped_address(context, global_address(context.rank, start)));
    if (keeps_writes_back(*view, how)) context.messages->releases.add(context, part);
    meet(context);
    return view;
}

void remove_space(block_view* view, std::source_location site) {
    rank_context& context = context_of_caller(site);
    coherent_part& part = live_part(view, site);
    part.flush(site);
    meet(context);
    part.confirm(site);  // updates of others may have found that copies are gone
    meet(context);
    part.finish_calls();
    if (keeps_writes_back(*view, part.shape().how)) {
        context.messages->releases.remove(context, part);
    }
    const std::uint64_t start = part.shape().view_offset;
    coherence::parts_of(context).remove(part.shape().number);
    deallocate_symmetric(context, global_address(context.rank, start), site);
}

std::uint64_t take_from_space(block_view* view, std::size_t bytes, std::size_t alignment,
                              std::string_view name, std::source_location site) {
    const std::uint64_t offset = live_part(view, site).take(bytes, alignment, name, site);
    return global_address(context_of_caller(site).rank, offset);
}

}  // namespace selion::detail
