// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/node/sleep_protocol.hpp"

/// How a thread that serves a room's mail by itself keeps senders from waking the notifier, and how
/// it hands the room back: over an `Access` as in sleep_protocol.hpp. Why no message is left lying:
/// messages.md.
namespace selion::machine::attendance {

/// Comes in: senders need not ring, because this thread looks.
template <class Access, class Room>
void attend(Access& access, Room& room) {
    access.change_attendants(room, 1);
    access.take_mark(access.arrivals_of(room));
}

/// Goes. @return whether it was the last one; then it must look once more, for what came before the
/// mark was there.
template <class Access, class Room>
bool leave(Access& access, Room& room, std::uint32_t notifier) {
    if (!access.change_attendants(room, -1)) return false;
    access.take_mark(access.arrivals_of(room));  // its own, if it slept
    sleep_protocol::mark(access, access.arrivals_of(room), notifier);
    access.heavy_fence();
    return true;
}

}  // namespace selion::machine::attendance
