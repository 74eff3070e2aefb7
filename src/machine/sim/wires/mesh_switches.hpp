// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/delay_line.hpp"
#include "machine/sim/wires/mesh_layout.hpp"
#include "machine/sim/wires/mesh_link_count.hpp"
#include "machine/sim/wires/mesh_waits.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// What a link moves in one slot.
struct transaction {
    message* whole = nullptr;  ///< that it is a part of
    ticks here = 0;            ///< when it comes into the queue that it is in or on its way to
    std::uint32_t bytes = 0;
    mesh_way way{0, 0};
};

/// Of a transaction before it enters: when it was ready, and when its port had room at the latest.
struct source_wait {
    ticks ready;
    ticks room;
};

/// Routers, links and queues of a mesh, stepped from one tick at which something happens to the
/// next. Knows nothing of ranks. Its rules are in docs/design/mesh.md; what it does in a tick
/// depends only on what was so before that tick, so the order in which callers of one tick come
/// never matters.
///
/// @cost two entries in sorted queues for each hop; no allocation once the queues have grown.
class mesh_switches {
public:
    /// @pre rows and columns 1 .. 32767, queue_slots at least 1. A slot is at least one tick.
    explicit mesh_switches(const mesh_model& model);

    ticks slot() const { return slot_; }

    /// @param port one of the `from_…` links of a node, here and below.
    bool has_room(std::uint32_t port) const { return places(links_[port]) < capacity_; }
    /// Asks for the port to be among `freed_ports` once, when it has room again.
    void await_room(std::uint32_t port) {
        links_[port].is_awaited = true;
        if (port % links_per_node == from_core) waits_.core_may_wait(port / links_per_node);
    }
    /// A transaction goes into a port's link at a time not before that of the last one plus a
    /// slot. @pre has_room(port).
    void enter(std::uint32_t port, transaction what, ticks at, source_wait before);

    /// When something happens next, `end_of_time` if nothing is under way.
    ticks next() const;
    /// Lets everything happen that is due.
    /// @pre now == next(). With costs of zero `next()` may be `now` again afterwards.
    void advance(ticks now);

    /// Since `clear_reports`: the whole of each transaction that came to its end, in the order of
    /// the nodes' numbers only within a tick.
    std::span<message* const> delivered() const { return delivered_; }
    std::span<const std::uint32_t> freed_ports() const { return freed_ports_; }
    void clear_reports() {
        delivered_.clear();
        freed_ports_.clear();
    }

    const mesh_link_count& count(std::uint32_t number) const { return links_[number].count; }
    const mesh_waits& waits() const { return waits_; }

private:
    /// A link and the queue at its end. `first`, `here` and `end` count transactions: those from
    /// `first` to `here` are in the queue, those from there to `end` are on their way to it.
    struct link {
        std::uint32_t first = 0;
        std::uint32_t here = 0;
        std::uint32_t end = 0;
        std::uint32_t mask = 0;     ///< of its part of `places_`, which is used round and round
        std::size_t places = 0;     ///< where that begins
        std::uint8_t requests = 0;  ///< inputs of this link whose first one wants it, a bit each
        std::uint8_t turn = 0;      ///< the input that went last
        bool queue_gives = false;   ///< the queue gives one away in this slot
        bool is_candidate = false;  ///< in `candidates_`
        bool is_awaited = false;
        ticks free_at = 0;
        mesh_link_count count;
    };
    struct arrival {
        ticks at = 0;
        std::uint32_t link = 0;
        friend bool operator>(const arrival& left, const arrival& right) {
            return left.at > right.at;
        }
    };
    struct end_of_slot {
        ticks at = 0;
        std::uint32_t queue = 0;   ///< the link whose queue gave
        std::uint32_t output = 0;  ///< the link that took
    };

    /// One that leaves keeps its place until the end of the slot.
    static std::uint32_t places(const link& of) { return of.end - of.first + of.queue_gives; }
    transaction& place(const link& of, std::uint32_t which) {
        return places_[of.places + (which & of.mask)];
    }
    void put(link& into, const transaction& what) {
        if (into.end - into.first > into.mask) enlarge(into);
        place(into, into.end++) = what;
    }
    void enlarge(link& of);
    void arrive(std::uint32_t number);
    void end_slot(const end_of_slot& over);
    void show_first(std::uint32_t number);
    void consider(std::uint32_t number);
    void arbitrate(std::uint32_t number, ticks now);
    std::uint32_t admitted(const link& output, std::uint32_t which) const;
    void move(std::uint32_t queue, std::uint32_t output, ticks now);

    mesh_layout layout_;
    ticks entry_;
    ticks hop_;
    ticks slot_;
    bool keeps_bubble_;
    std::uint32_t capacity_;  ///< places of a queue and its link
    std::vector<link> links_;
    std::vector<transaction> places_;      ///< as many for each link as it has needed
    std::vector<std::uint32_t> router_;    ///< of a link: number of the first output at its end
    std::vector<std::uint32_t> upstream_;  ///< of an input: the link that ends there
    delay_line<arrival> hops_;
    delay_line<arrival> entries_;
    /// Entries that did not come in the order of time.
    std::priority_queue<arrival, std::vector<arrival>, std::greater<>> later_entries_;
    delay_line<end_of_slot> slots_;
    mesh_waits waits_;
    std::vector<std::uint32_t> candidates_;
    std::vector<message*> delivered_;
    std::vector<std::uint32_t> freed_ports_;
};

}  // namespace selion::machine::sim
