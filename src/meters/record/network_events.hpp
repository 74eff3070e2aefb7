// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace selion::meters {

/// Where a router is joined to something: to its core, or to the next router.
enum class router_port : std::uint8_t { core, east, south, west, north };
inline constexpr std::size_t router_ports = 5;

/// What the counters of one router have seen, by its ports.
struct router_events {
    /// Ticks in which something was to go out by this port and there was no room at its other end;
    /// at the core's port: ticks in which a store of the core found no room.
    std::array<std::int64_t, router_ports> waits{};
    std::int64_t any_wait = 0;  ///< ticks in which that was so at one of them or several
    /// Transactions that went out by this port; at the core's port: that the core sent.
    std::array<std::uint64_t, router_ports> accesses{};
    std::array<std::uint64_t, router_ports> bytes{};  ///< of those
};

/// What a rank has sent into a network, the runtime's own messages included, by kind. What a
/// message is answered with is a message of the rank that answers; what a get or an atomic brings,
/// and acknowledgements, are part of what they answer.
enum class sent_kind : std::uint8_t { put, get, atomic, message };
inline constexpr std::size_t sent_kinds = 4;

struct sent_messages {
    struct amount {
        std::uint64_t messages = 0;
        /// Of data, also of those that a get brings; without what a message tells beside them.
        std::uint64_t bytes = 0;
    };
    std::array<amount, sent_kinds> by_kind{};
};

}  // namespace selion::meters
