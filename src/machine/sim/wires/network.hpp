// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/sim/engine/engine.hpp"
#include "machine/sim/engine/virtual_time.hpp"
#include "meters/record/network_events.hpp"
#include "selion/detail/slow_path.hpp"

namespace selion::machine::sim {

class network;

/// What a message carries, as far as wires are concerned.
enum class message_class : std::uint8_t { write, read_request, read_reply, control };

/// Something on its way from one rank to another. Its event happens when it arrives, unless the
/// network uses it for its steps on the way. What every message needs is in its first cache line.
struct alignas(64) message : event {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t bytes = 0;         ///< that occupy wires
    event::action arrive = nullptr;  ///< called when all of it has arrived
    network* owner = nullptr;        ///< set by a network whose events need it
    template <class Network>
    Network& wires() const {
        return static_cast<Network&>(*owner);
    }
    message_class kind = message_class::write;
    bool by_dma = false;  ///< the origin's DMA engine copies, not its processor
    detail::dma_stage stage = detail::dma_stage::set_up;  ///< of that engine
    std::uint32_t store_bytes = 0;  ///< of one store of the origin's copy loop; 0: as usual
    // For the network's own use while the message is on its way.
    task* sender = nullptr;  ///< that stands still until its last store has gone
    std::uint32_t at = 0;
    std::uint32_t step = 0;
    std::uint32_t slots_left = 0;
    ticks entered = 0;
    message* next = nullptr;
};

/// What one link has done, for traces and reports.
struct link_use {
    std::string name;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    ticks busy = 0;     ///< time that something was on it
    ticks waiting = 0;  ///< time that messages have waited for it, summed
    ticks until = 0;    ///< its use so far ends then, which may be ahead
};

/// Wires. Messages are given to it in the order of their times; it lets each arrive.
class network {
public:
    virtual ~network() = default;
    /// Takes a message that leaves its origin at `engine.now()`, the time of the calling rank,
    /// which has caught up. @return when the origin's processor is free of it, at or after now.
    /// May suspend the calling rank meanwhile (full queues).
    virtual ticks inject(engine& host, message& what) = 0;
    /// The same for a message that an event sends (a reply): nobody can be suspended, so it waits
    /// in an unlimited queue at the origin.
    virtual void inject_from_event(engine& host, message& what) = 0;
    /// Whether requests of one rank to another arrive in the order in which they were injected.
    virtual bool keeps_order() const { return true; }
    /// Whether the same bytes can go to several ranks at once.
    virtual bool has_broadcast() const { return false; }
    /// Sends the same bytes to several ranks, at once where that can be, else one after another.
    /// @param copies messages of one rank, one to each of the others, all of equal size.
    /// @return when the origin's processor is free of them. @pre as `inject`.
    virtual ticks broadcast(engine& host, std::span<message* const> copies) {
        task& caller = host.current();
        for (message* each : copies) {
            host.catch_up();
            caller.now = std::max(caller.now, inject(host, *each));
        }
        return caller.now;
    }
    /// Sends a message without bytes that leaves now, if it can be said now when it arrives.
    /// @return that time; nothing, and nothing is sent, if others may come before it.
    virtual std::optional<ticks> send_unseen(engine&, std::uint32_t, std::uint32_t) { return {}; }
    /// Whether a rank's processor is free of a message as soon as it leaves, and nobody is ever
    /// suspended: then both functions above do the same.
    virtual bool frees_senders() const { return false; }
    virtual std::vector<link_use> links() const { return {}; }
    /// What a rank's router has counted until `now`, if there are routers. @pre the rank does not
    /// stand still in `inject`.
    virtual std::optional<meters::router_events> router_events(std::uint32_t, ticks) const {
        return {};
    }
    /// Time that a rank's processor has stood still in `inject` because queues were full.
    virtual ticks stalls(std::uint32_t) const { return 0; }
    /// Whether it wants to be told when ranks wait, as a bus does whose transfers need processors.
    virtual bool follows_ranks() const { return false; }
    /// A rank waits in a call, or has ended, from `at` on: its own time, which may be ahead.
    virtual void rank_is_idle(engine&, std::uint32_t, ticks) {}
    /// A rank that waited would go on at `at`. @return when it may.
    virtual ticks rank_computes(std::uint32_t, ticks at) { return at; }
};

}  // namespace selion::machine::sim
