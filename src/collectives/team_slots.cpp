// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_slots.hpp"

#include <algorithm>
#include <cstring>

#include "machine/simulated_memory.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

}  // namespace

std::byte* team_slots::own_slot() { return own_.slots[turn_ % slot_sets]; }

const std::byte* team_slots::slot_of(std::uint32_t member) const {
    return members_.block(member).slots[turn_ % slot_sets];
}

void team_slots::write_slot(std::size_t start, std::span<const std::byte> data) {
    if (data.empty()) return;
    machine::announce_write(context_, own_slot() + start, data.size());
    std::memcpy(own_slot() + start, data.data(), data.size());
}

void team_slots::read_slot(std::uint32_t member, std::size_t start, std::span<std::byte> data) {
    if (data.empty()) return;
    machine::announce_read(context_, slot_of(member) + start, data.size());
    std::memcpy(data.data(), slot_of(member) + start, data.size());
}

void team_slots::run(const detail::block_call& call, std::size_t most_part) {
    if (call.how != nullptr) combination_.prepare(members_.count(), call.element_bytes);
    if (call.what == all_reduce && call.block_bytes() <= group_result_bytes) {
        if (meeting_.is_in_groups()) return all_reduce_by_groups(call);
        const bool take_turns = members_.share_processors() || members_.groups() == 1;
        if (take_turns) return all_reduce_by_last(call);
        if (members_.groups() != members_.count()) return all_reduce_alone(call);
    }
    block_part part{0, part_bytes(call, most_part)};
    do {
        ++turn_;
        publish(call, part);
        meeting_.synchronise(machine::wait_reason::collective);
        fetch(call, part);
        part.start += part.bytes;
    } while (part.start < call.most_bytes());
}

/// Members that share a carrier need not all combine everything: the one that comes last does it
/// for them, and lets them go on when the result is there.
void team_slots::all_reduce_by_groups(const detail::block_call& call) {
    ++turn_;
    write_slot(0, {call.source, call.block_bytes()});
    meeting_.arrive();
    std::byte* const result =
        members_.block(members_.group_first()).group_results[turn_ % slot_sets];
    if (meeting_.leads_group()) {
        meeting_.wait_for_groups(machine::wait_reason::collective);
        combine_slots(call, result, 0, call.count);
        meeting_.release_group();
    } else {
        meeting_.wait_in_group(machine::wait_reason::collective);
    }
    if (call.count != 0) std::memcpy(call.target, result, call.block_bytes());
}

/// A member that has its carrier to itself, beside others that meet in groups: as these it meets
/// once.
void team_slots::all_reduce_alone(const detail::block_call& call) {
    ++turn_;
    write_slot(0, {call.source, call.block_bytes()});
    meeting_.synchronise(machine::wait_reason::collective);
    combine_slots(call, call.target, 0, call.count);
}

/// Where members share processors, or all of them one carrier, whoever comes last has the values in
/// its cache while the others have not been on again: it combines for all of them.
void team_slots::all_reduce_by_last(const detail::block_call& call) {
    ++turn_;
    write_slot(0, {call.source, call.block_bytes()});
    std::byte* const result = members_.block(0).group_results[turn_ % slot_sets];
    if (meeting_.arrive_for_release()) {
        combine_slots(call, result, 0, call.count);
        meeting_.release_all();
    } else {
        meeting_.wait_for_release(machine::wait_reason::collective);
    }
    if (call.count != 0) std::memcpy(call.target, result, call.block_bytes());
}

/// How much of each block goes at a time. Short blocks lie side by side.
std::size_t team_slots::part_bytes(const detail::block_call& call, std::size_t most_part) const {
    const std::size_t room = slot_bytes / (gives_all(call.what) ? members_.count() : 1);
    const std::size_t step = call.how != nullptr ? call.element_bytes : detail::line_bytes;
    const std::size_t most = most_part == 0 ? room : std::min(room, std::max(most_part, step));
    if (call.most_bytes() != 0 && call.most_bytes() <= most) return call.most_bytes();
    const std::size_t whole = most - most % step;
    // Where members are so many that none of them has a line, what is only moved goes in pieces.
    return whole == 0 && call.how == nullptr ? std::max<std::size_t>(most, 1) : whole;
}

/// What is left of a block from the start of a part on, as far as the part goes.
std::size_t team_slots::part_of(std::size_t block_bytes, block_part part) {
    return block_bytes <= part.start ? 0 : std::min(part.bytes, block_bytes - part.start);
}

void team_slots::publish(const detail::block_call& call, block_part part) {
    if (only_root_gives(call.what) && members_.own() != call.root) return;
    if (!gives_all(call.what)) {
        const std::byte* const source = call.what == broadcast ? call.target : call.source;
        write_slot(0, {source + part.start, part_of(call.block_bytes(), part)});
        return;
    }
    if (call.most == 0 && part.bytes == call.block_bytes()) {
        return write_slot(0, {call.source, part.bytes * members_.count()});
    }
    for (std::uint32_t to = 0; to < members_.count(); ++to) {
        const std::byte* const from = call.source + call.source_start(to) + part.start;
        write_slot(to * part.bytes, {from, part_of(call.source_bytes(to), part)});
    }
}

void team_slots::fetch(const detail::block_call& call, block_part part) {
    if (!gets_result(members_, call)) return;
    if (call.how != nullptr) return fetch_combined(call, part);
    if (call.what == scatter) return fetch_scattered(call, part);
    if (call.what == broadcast) return fetch_broadcast(call, part);
    const bool is_exchange = call.what == exchange;
    const std::byte* const given =
        call.source + part.start + (is_exchange ? call.source_start(members_.own()) : 0);
    if (call.most == 0 && part.bytes == sizeof(std::uint64_t) && part.bytes == call.block_bytes()) {
        const std::size_t start = is_exchange ? members_.own() * sizeof(std::uint64_t) : 0;
        return fetch_words(start, call.target, given);
    }
    // Not all from the same rank at a time.
    for (std::uint32_t i = 0; i < members_.count(); ++i) {
        const std::uint32_t from = (members_.own() + i) % members_.count();
        const std::size_t bytes = part_of(call.target_bytes(from), part);
        fetch_block(from, is_exchange ? members_.own() * part.bytes : 0,
                    {call.target + call.target_start(from) + part.start, bytes}, given);
    }
}

/// One word of each member: without calls, so that the processor waits for many of them at a time.
/// @param own the rank's own one.
void team_slots::fetch_words(std::size_t slot_start, std::byte* to, const std::byte* own) {
    const auto copy = [&](std::uint32_t from, const std::byte* place) {
        std::uint64_t word = 0;
        std::memcpy(&word, place, sizeof word);
        std::memcpy(to + from * sizeof word, &word, sizeof word);
    };
    const auto fetch = [&](std::uint32_t from) {
        const std::byte* const place = slot_of(from) + slot_start;
        machine::announce_read(context_, place, sizeof(std::uint64_t));
        copy(from, place);
    };
    for (std::uint32_t from = members_.own() + 1; from < members_.count(); ++from) fetch(from);
    for (std::uint32_t from = 0; from < members_.own(); ++from) fetch(from);
    copy(members_.own(), own);
}

void team_slots::fetch_broadcast(const detail::block_call& call, block_part part) {
    if (members_.own() == call.root) return;
    read_slot(call.root, 0, {call.target + part.start, part_of(call.block_bytes(), part)});
}

void team_slots::fetch_scattered(const detail::block_call& call, block_part part) {
    const std::size_t bytes = part_of(call.block_bytes(), part);
    const std::byte* const given =
        members_.own() == call.root ? call.source + call.source_start(members_.own()) + part.start
                                    : nullptr;
    fetch_block(call.root, members_.own() * part.bytes, {call.target + part.start, bytes}, given);
}

/// @param own where the bytes lie if they are the rank's own.
void team_slots::fetch_block(std::uint32_t from, std::size_t slot_start, std::span<std::byte> to,
                             const std::byte* own) {
    if (from != members_.own()) {
        read_slot(from, slot_start, to);
    } else if (own != to.data() && !to.empty()) {
        std::memcpy(to.data(), own, to.size());
    }
}

void team_slots::fetch_combined(const detail::block_call& call, block_part part) {
    const std::size_t count = part_of(call.block_bytes(), part) / call.element_bytes;
    std::byte* const to = call.target + part.start;
    if (call.what == all_reduce && count * call.element_bytes * members_.count() >= share_bytes) {
        return combine_shares(call, to, count);
    }
    combine_slots(call, to, call.what == reduce_scatter ? members_.own() * part.bytes : 0, count);
}

void team_slots::combine_slots(const detail::block_call& call, std::byte* to, std::size_t start,
                               std::size_t count) {
    combination_.combine(to, {count, members_combined(members_, call), is_prefix(call.what)},
                         *call.how, [&](std::uint32_t member, std::size_t from, std::size_t bytes) {
                             const std::byte* const value = slot_of(member) + start + from;
                             machine::announce_read(context_, value, bytes);
                             return value;
                         });
}

/// Each member combines its share of the elements, puts it into its own slot where only it has
/// looked, and then everybody copies all shares.
void team_slots::combine_shares(const detail::block_call& call, std::byte* data,
                                std::size_t count) {
    const std::uint32_t own = members_.own();
    const vector_shares shares{count, call.element_bytes, members_.count()};
    const auto share_of = [&](std::uint32_t member) {
        return std::span(data + shares.start_of(member), shares.bytes_of(member));
    };
    combine_slots(call, share_of(own).data(), shares.start_of(own),
                  share_of(own).size() / call.element_bytes);
    write_slot(shares.start_of(own), share_of(own));
    meeting_.synchronise(machine::wait_reason::collective);
    for (std::uint32_t member = 0; member < members_.count(); ++member) {
        if (member != own) read_slot(member, shares.start_of(member), share_of(member));
    }
}

}  // namespace selion::collectives
