// SPDX-License-Identifier: Apache-2.0
/// Collectives of blocks where ranks map each other: everybody publishes a part of its blocks in
/// its slot, all meet, and everybody takes what it needs from the others' slots. One meeting for
/// each part; the slots of two meetings take turns, so nobody writes what may still be read.
#include <algorithm>
#include <cstring>

#include "collectives/schedule_runner.hpp"
#include "collectives/team_state.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Message collectives that a rank may be ahead of another: what inboxes hold stays bounded.
constexpr std::uint64_t message_window = 8;

/// Whether a rank publishes a block for each rank, and not one alone.
bool publishes_all(collective_kind what) {
    return what == exchange || what == reduce_scatter || what == scatter;
}

}  // namespace

void team_state::run(const detail::block_call& call) {
    if (context_.words_mapped && call.chosen == nullptr) {
        run_in_slots(call);
    } else {
        run_by_messages(call);
    }
}

void team_state::run_by_messages(const detail::block_call& call) {
    if (++message_collectives_ % message_window == 0) {
        synchronise(machine::wait_reason::collective);
    }
    schedule_runner(context_, call, message_collectives_).run();
}

void team_state::run_in_slots(const detail::block_call& call) {
    if (call.how != nullptr) prepare_partials(call.element_bytes);
    const std::size_t blocks = publishes_all(call.what) ? context_.ranks : 1;
    const std::size_t elements = std::max<std::size_t>(slot_bytes / blocks / call.element_bytes, 1);
    const std::size_t most = elements * call.element_bytes;
    block_part part{0, 0};
    do {
        part.bytes = std::min(most, call.block_bytes() - part.start);
        ++slot_turn_;
        publish(call, part);
        synchronise(machine::wait_reason::collective);
        fetch(call, part);
        part.start += part.bytes;
    } while (part.start < call.block_bytes());
}

void team_state::publish(const detail::block_call& call, block_part part) {
    if (call.what == scatter && context_.rank != call.root) return;
    if (!publishes_all(call.what)) {
        if (part.bytes != 0) write_slot(0, {call.source + part.start, part.bytes});
        return;
    }
    for (std::uint32_t to = 0; to < context_.ranks && part.bytes != 0; ++to) {
        const std::byte* const from = call.source + to * call.block_bytes() + part.start;
        write_slot(to * part.bytes, {from, part.bytes});
    }
}

void team_state::fetch(const detail::block_call& call, block_part part) {
    if (part.bytes == 0) return;
    if (call.how != nullptr) return fetch_combined(call, part);
    const std::size_t block = call.block_bytes();
    const std::size_t own = context_.rank * block + part.start;
    switch (call.what) {
        case scatter:
            fetch_block(call.root, context_.rank * part.bytes, call.target + part.start, part.bytes,
                        context_.rank == call.root ? call.source + own : nullptr);
            return;
        case gather:
            if (context_.rank != call.root) return;
            break;
        default: break;
    }
    const bool is_exchange = call.what == exchange;
    const std::byte* const given = is_exchange ? call.source + own : call.source + part.start;
    // Not all from the same rank at a time.
    for (std::uint32_t i = 0; i < context_.ranks; ++i) {
        const std::uint32_t from = (context_.rank + i) % context_.ranks;
        fetch_block(from, is_exchange ? context_.rank * part.bytes : 0,
                    call.target + from * block + part.start, part.bytes, given);
    }
}

/// @param own where the bytes lie if they are the rank's own.
void team_state::fetch_block(std::uint32_t from, std::size_t slot_start, std::byte* to,
                             std::size_t bytes, const std::byte* own) {
    if (from != context_.rank) {
        read_slot(from, slot_start, {to, bytes});
    } else if (own != to) {
        std::memcpy(to, own, bytes);
    }
}

void team_state::fetch_combined(const detail::block_call& call, block_part part) {
    slot_part where{0, part.bytes / call.element_bytes, context_.ranks};
    switch (call.what) {
        case reduce:
            if (context_.rank != call.root) return;
            break;
        case reduce_scatter: where.start = context_.rank * part.bytes; break;
        case scan:
            where.ranks = context_.rank + 1;
            where.from_left = true;
            break;
        default: where.ranks = context_.rank; where.from_left = true;
    }
    if (where.ranks != 0) combine_slots(call.target + part.start, where, *call.how);
}

}  // namespace selion::collectives
