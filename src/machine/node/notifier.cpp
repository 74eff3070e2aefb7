// SPDX-License-Identifier: Apache-2.0
#include "machine/node/notifier.hpp"

#include <algorithm>
#include <utility>

#include "machine/host/host.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/node/run_soon.hpp"
#include "machine/node/sleep_protocol.hpp"
#include "machine/node/turns.hpp"
#include "machine/process/crash_handler.hpp"

namespace selion::machine::node {
namespace {

/// How long the thread stays awake for another message after it has served one: twice as long each
/// time that one came, half as long each time that none did. It yields meanwhile, unless that
/// takes long because a rank computes on the same core.
constexpr std::int64_t shortest_linger_ns = 500;
constexpr std::int64_t longest_linger_ns = 20'000;

}  // namespace

notifier::notifier(const shared_mapping& mapping, post_office& office,
                   const detail::rank_context& context, std::uint32_t bell_number)
    : mapping_(mapping),
      office_(office),
      context_(context),
      bell_number_(bell_number),
      linger_ns_(shortest_linger_ns) {
    context_.is_foreign_thread = true;
    context_.recorder = nullptr;
    for (mail_room& room : office_.rooms()) room.set_notifier(bell_number);
    thread_ = std::thread([this] { run(); });
}

notifier::~notifier() {
    is_ending_.store(true, std::memory_order_relaxed);
    host_access access(mapping_.control(), mapping_.is_shared(), no_deadline);
    sleep_protocol::ring(access, mapping_.bell(bell_number_));
    thread_.join();
}

void notifier::run() {
    const signal_stack stack_for_signals;
    ask_to_run_soon();
    detail::rank_context* const nobody = std::exchange(detail::current_context, &context_);
    while (!is_ending_.load(std::memory_order_relaxed)) {
        if (!serve_rooms() && !linger()) sleep();
    }
    detail::current_context = nobody;
}

/// Rooms that a thread of their ranks attends are left to it.
bool notifier::serve_rooms() {
    bool has_served = false;
    for (mail_room& room : office_.rooms()) {
        if (!room.is_attended() && room.serve(context_)) has_served = true;
    }
    return has_served;
}

bool notifier::has_work() {
    return is_ending_.load(std::memory_order_relaxed) ||
           std::ranges::any_of(office_.rooms(), [](const mail_room& room) {
               return !room.is_attended() && room.has_mail();
           });
}

/// @return whether something came.
bool notifier::linger() {
    turn_watch turns(turns_);
    if (has_work()) {
        // It has just looked, so others have to do something first: who serves, ranks that have not
        // begun, who makes room for what has been parked.
        turns.yield();
        return true;
    }
    const std::int64_t end_ns = host_time_ns() + linger_ns_;
    do {
        if (has_work()) {
            linger_ns_ = std::min(linger_ns_ * 2, longest_linger_ns);
            return true;
        }
        if (!turns.yield_if_quick()) break;
    } while (host_time_ns() < end_ns);
    linger_ns_ = std::max(linger_ns_ / 2, shortest_linger_ns);
    return false;
}

/// As waiting.md tells. Rooms that are attended get its mark from who leaves them.
void notifier::sleep() {
    listener_access access(mapping_.control(), mapping_.is_shared(), no_deadline);
    const std::uint32_t count = sleep_protocol::announce(access, mapping_.bell(bell_number_));
    for (mail_room& room : office_.rooms()) {
        if (!room.is_attended()) sleep_protocol::mark(access, room.arrivals(), bell_number_ + 1);
    }
    sleep_protocol::sleep_unless(access, mapping_.bell(bell_number_), count,
                                 [this] { return has_work(); });
}

}  // namespace selion::machine::node
