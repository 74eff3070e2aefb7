// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/node/sleep_protocol.hpp"

/// How a thread that serves a room's mail by itself keeps senders from waking the notifier, and how
/// it hands the room back: over an `Access` as in sleep_protocol.hpp. Why no message is left lying:
/// messages.md.
namespace selion::machine::attendance {

/// Replaces a mark, if it is there. Those of other threads stay: they may be asleep.
template <class Access, class Word>
void replace_own_mark(Access& access, Word& word, std::uint32_t own, std::uint32_t wanted) {
    std::uint32_t seen = access.mark_of(word);
    while (seen == own && !access.replace_mark(word, seen, wanted)) {
    }
}

/// Comes in: senders need not ring, because this thread looks.
/// @param notifier its doorbell's number + 1.
template <class Access, class Room>
void attend(Access& access, Room& room, std::uint32_t notifier) {
    access.add_attendant(room);
    replace_own_mark(access, access.arrivals_of(room), notifier, sleep_protocol::nobody);
}

/// Goes. @param self the thread's mark, which it may have left there when it slept. @return whether
/// it was the last one; then it must look once more, for what came before the mark was there.
template <class Access, class Room>
bool leave(Access& access, Room& room, std::uint32_t notifier, std::uint32_t self) {
    if (!access.remove_attendant(room)) return false;
    replace_own_mark(access, access.arrivals_of(room), self, notifier);
    sleep_protocol::mark(access, access.arrivals_of(room), notifier);
    access.heavy_fence();
    return true;
}

}  // namespace selion::machine::attendance
