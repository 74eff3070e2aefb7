// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// What serves one message after the other, in the order in which they come to it: the port of a
/// rank, a link. Small, because with many ranks each is in no cache.
struct port {
    ticks free_at = 0;
    ticks busy = 0;
    ticks waiting = 0;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;

    /// @param ready when the message is there. @param taken how long it is served.
    /// @return when that begins.
    ticks take(std::uint64_t message_bytes, ticks ready, ticks taken) {
        const ticks start = std::max(ready, free_at);
        free_at = later(start, taken);
        busy = later(busy, taken);
        waiting = later(waiting, start - ready);
        ++messages;
        bytes += message_bytes;
        return start;
    }
    link_use use(std::string name) const {
        return {std::move(name), messages, bytes, busy, waiting, free_at};
    }
};

}  // namespace selion::machine::sim
