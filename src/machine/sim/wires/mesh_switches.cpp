// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/mesh_switches.hpp"

#include <algorithm>
#include <bit>

namespace selion::machine::sim {
namespace {

constexpr bool is_direction(std::uint32_t which) { return which <= north; }

}  // namespace

mesh_switches::mesh_switches(const mesh_model& model)
    : layout_(model),
      entry_(model.entry),
      hop_(model.hop),
      slot_(slot_of(model)),
      keeps_bubble_(model.wraps_around),
      capacity_(places_of_link(model)),
      links_(std::size_t{layout_.nodes()} * links_per_node),
      places_(links_.size()),
      router_(links_.size()),
      upstream_(links_.size()),
      waits_(layout_.nodes()) {
    for (std::uint32_t number = 0; number < links_.size(); ++number) {
        const std::uint32_t which = number % links_per_node;
        const std::uint32_t end = layout_.end_of(number);
        links_[number].places = number;
        router_[number] = end * links_per_node;
        upstream_[end * links_per_node + which] = number;
    }
}

void mesh_switches::enter(std::uint32_t port, transaction what, ticks at, source_wait before) {
    link& taken = links_[port];
    what.here = at + entry_;
    put(taken, what);
    ++taken.count.transactions;
    taken.count.bytes += what.bytes;
    taken.count.waiting += at - before.ready;
    if (port % links_per_node == from_core) {
        waits_.core_goes(port / links_per_node, before.ready, std::max(before.ready, before.room));
    }
    const arrival due{what.here, port};
    if (entries_.empty() || entries_.back().at <= due.at) {
        entries_.push(due);
    } else {
        later_entries_.push(due);
    }
}

/// Twice as many places, behind all others: a short wire needs few of the many that links of a
/// machine with a fine tick have.
void mesh_switches::enlarge(link& of) {
    const std::size_t moved_to = places_.size();
    const std::uint32_t mask = of.mask * 2 + 1;
    places_.resize(moved_to + mask + 1);
    for (std::uint32_t i = of.first; i != of.end; ++i) {
        places_[moved_to + (i & mask)] = place(of, i);
    }
    of.places = moved_to;
    of.mask = mask;
}

ticks mesh_switches::next() const {
    ticks soonest = end_of_time;
    if (!hops_.empty()) soonest = hops_.front().at;
    if (!slots_.empty()) soonest = std::min(soonest, slots_.front().at);
    if (!entries_.empty()) soonest = std::min(soonest, entries_.front().at);
    if (!later_entries_.empty()) soonest = std::min(soonest, later_entries_.top().at);
    return soonest;
}

void mesh_switches::advance(ticks now) {
    // First all that becomes true in this tick, then all decisions: none sees another's effect.
    for (; !hops_.empty() && hops_.front().at == now; hops_.pop()) arrive(hops_.front().link);
    for (; !entries_.empty() && entries_.front().at == now; entries_.pop()) {
        arrive(entries_.front().link);
    }
    for (; !later_entries_.empty() && later_entries_.top().at == now; later_entries_.pop()) {
        arrive(later_entries_.top().link);
    }
    for (; !slots_.empty() && slots_.front().at == now; slots_.pop()) end_slot(slots_.front());

    for (const std::uint32_t number : candidates_) arbitrate(number, now);
    candidates_.clear();
}

void mesh_switches::arrive(std::uint32_t number) {
    link& came_by = links_[number];
    const bool was_empty = came_by.here++ == came_by.first;
    if (was_empty && !came_by.queue_gives) show_first(number);
}

void mesh_switches::end_slot(const end_of_slot& over) {
    link& gave = links_[over.queue];
    gave.queue_gives = false;
    if (gave.first != gave.here) show_first(over.queue);
    if (gave.is_awaited) {
        gave.is_awaited = false;
        freed_ports_.push_back(over.queue);
    }
    consider(over.queue);
    consider(over.output);
}

/// The first of a queue asks for the output that it needs.
void mesh_switches::show_first(std::uint32_t number) {
    const link& asking = links_[number];
    transaction& first = place(asking, asking.first);
    const std::uint32_t output = router_[number] + first.way.advance();
    links_[output].requests |= static_cast<std::uint8_t>(1U << number % links_per_node);
    consider(output);
}

void mesh_switches::consider(std::uint32_t number) {
    link& output = links_[number];
    if (output.requests == 0 || output.is_candidate) return;
    output.is_candidate = true;
    candidates_.push_back(number);
}

/// Requests that the queue at the end of the link has room for.
std::uint32_t mesh_switches::admitted(const link& output, std::uint32_t which) const {
    if (!is_direction(which)) return output.requests;  // memory takes whatever comes
    const std::uint32_t room = capacity_ - places(output);
    if (room == 0) return 0;
    // What enters a ring leaves one place free, so that the ring can always turn.
    if (keeps_bubble_ && room == 1) return output.requests & (1U << which);
    return output.requests;
}

void mesh_switches::arbitrate(std::uint32_t number, ticks now) {
    link& output = links_[number];
    output.is_candidate = false;
    if (now < output.free_at) return;
    const std::uint32_t which = number % links_per_node;
    const std::uint32_t asking = admitted(output, which);
    if (asking == 0) {
        if (output.requests != 0) waits_.begin(number, now);
        return;
    }
    if (is_direction(which)) waits_.end(number, now);
    const std::uint32_t behind = asking & ~((2U << output.turn) - 1);
    const auto winner = static_cast<std::uint32_t>(std::countr_zero(behind != 0 ? behind : asking));
    output.turn = static_cast<std::uint8_t>(winner);
    output.requests &= static_cast<std::uint8_t>(~(1U << winner));
    move(upstream_[number - which + winner], number, now);
}

void mesh_switches::move(std::uint32_t queue, std::uint32_t number, ticks now) {
    link& from = links_[queue];
    link& output = links_[number];
    transaction moved = place(from, from.first++);
    from.queue_gives = true;
    output.free_at = now + slot_;
    ++output.count.transactions;
    output.count.bytes += moved.bytes;
    output.count.waiting += now - moved.here;
    slots_.push({now + slot_, queue, number});
    if (number % links_per_node == into_core) {
        delivered_.push_back(moved.whole);
        return;
    }
    moved.here = now + hop_;
    put(output, moved);
    hops_.push({moved.here, number});
}

}  // namespace selion::machine::sim
