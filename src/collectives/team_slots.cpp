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

/// Message collectives, and bytes of them for each rank, after which all meet: no rank is further
/// ahead of another, so what inboxes hold stays bounded.
constexpr std::uint64_t message_window = 8;
constexpr std::uint64_t message_window_bytes = 16 * 1024 * 1024;

/// Whether a rank publishes a block for each rank, and not one alone.
bool publishes_all(collective_kind what) {
    return what == exchange || what == reduce_scatter || what == scatter;
}

}  // namespace

/// A part of every block that is published has to fit into a slot: at least an element of a
/// reduction, or a line.
bool team_state::fits_into_slots(const detail::block_call& call) const {
    const std::size_t share = slot_bytes / (publishes_all(call.what) ? members_.count() : 1);
    return share >= (call.how != nullptr ? call.element_bytes : detail::line_bytes);
}

void team_state::run(const detail::block_call& call) {
    if (members_.are_mapped() && call.chosen == nullptr && fits_into_slots(call)) {
        run_in_slots(call);
    } else {
        run_by_messages(call);
    }
}

void team_state::run_by_messages(const detail::block_call& call) {
    ++message_collectives_;
    ++message_window_used_;
    message_bytes_ += call.most_bytes() * members_.count();
    if (message_window_used_ == message_window || message_bytes_ > message_window_bytes) {
        synchronise(machine::wait_reason::collective);
        message_window_used_ = 0;
        message_bytes_ = 0;
    }
    schedule_runner(context_, members_, call, message_collectives_).run();
}

void team_state::run_in_slots(const detail::block_call& call) {
    block_part part{0, slot_bytes / (publishes_all(call.what) ? members_.count() : 1)};
    if (call.how != nullptr) {
        prepare_partials(call.element_bytes);
        part.bytes -= part.bytes % call.element_bytes;
    } else {
        part.bytes -= part.bytes % detail::line_bytes;
    }
    do {
        ++slot_turn_;
        publish(call, part);
        synchronise(machine::wait_reason::collective);
        fetch(call, part);
        part.start += part.bytes;
    } while (part.start < call.most_bytes());
}

/// What is left of a block from the start of a part on, as far as the part goes.
std::size_t team_state::part_of(std::size_t block_bytes, block_part part) {
    return block_bytes <= part.start ? 0 : std::min(part.bytes, block_bytes - part.start);
}

void team_state::publish(const detail::block_call& call, block_part part) {
    if (call.what == scatter && members_.own() != call.root) return;
    if (!publishes_all(call.what)) {
        write_slot(0, {call.source + part.start, part_of(call.block_bytes(), part)});
        return;
    }
    for (std::uint32_t to = 0; to < members_.count(); ++to) {
        const std::byte* const from = call.source + call.source_start(to) + part.start;
        write_slot(to * part.bytes, {from, part_of(call.source_bytes(to), part)});
    }
}

void team_state::fetch(const detail::block_call& call, block_part part) {
    if (call.how != nullptr) return fetch_combined(call, part);
    switch (call.what) {
        case scatter: return fetch_scattered(call, part);
        case gather:
            if (members_.own() != call.root) return;
            break;
        default: break;
    }
    const bool is_exchange = call.what == exchange;
    const std::byte* const given =
        call.source + part.start + (is_exchange ? call.source_start(members_.own()) : 0);
    // Not all from the same rank at a time.
    for (std::uint32_t i = 0; i < members_.count(); ++i) {
        const std::uint32_t from = (members_.own() + i) % members_.count();
        const std::size_t bytes = part_of(call.target_bytes(from), part);
        fetch_block(from, is_exchange ? members_.own() * part.bytes : 0,
                    {call.target + call.target_start(from) + part.start, bytes}, given);
    }
}

void team_state::fetch_scattered(const detail::block_call& call, block_part part) {
    const std::size_t bytes = part_of(call.block_bytes(), part);
    const std::byte* const given =
        members_.own() == call.root ? call.source + call.source_start(members_.own()) + part.start
                                    : nullptr;
    fetch_block(call.root, members_.own() * part.bytes, {call.target + part.start, bytes}, given);
}

/// @param own where the bytes lie if they are the rank's own.
void team_state::fetch_block(std::uint32_t from, std::size_t slot_start, std::span<std::byte> to,
                             const std::byte* own) {
    if (from != members_.own()) {
        read_slot(from, slot_start, to);
    } else if (own != to.data() && !to.empty()) {
        std::memcpy(to.data(), own, to.size());
    }
}

void team_state::fetch_combined(const detail::block_call& call, block_part part) {
    slot_part where{0, part_of(call.block_bytes(), part) / call.element_bytes, members_.count()};
    switch (call.what) {
        case reduce:
            if (members_.own() != call.root) return;
            break;
        case reduce_scatter: where.start = members_.own() * part.bytes; break;
        case scan:
            where.ranks = members_.own() + 1;
            where.from_left = true;
            break;
        default: where.ranks = members_.own(); where.from_left = true;
    }
    if (where.ranks != 0) combine_slots(call.target + part.start, where, *call.how);
}

}  // namespace selion::collectives
