// SPDX-License-Identifier: Apache-2.0
#include "onesided/release_observers.hpp"

#include <utility>

#include "onesided/message_state.hpp"

namespace selion::onesided {

void release_observers::add(detail::rank_context& context, release_observer& observer) {
    observers_.push_back(&observer);
    if (std::exchange(context.own.announces_writes, true)) return;
    context.own.signal_count = 0;
    plain_caller_ = std::exchange(context.own.plain_caller, &detail::no_plain_caller);
}

void release_observers::remove(detail::rank_context& context, release_observer& observer) {
    std::erase(observers_, &observer);
    if (!observers_.empty()) return;
    context.own.announces_writes = false;
    context.own.signal_count = context.bypass_count;
    context.own.plain_caller = plain_caller_;
}

void release_observers::release(detail::rank_context& caller, std::source_location site) {
    if (!completion_queue::is_run_by(caller) || is_releasing_) return;
    struct at_the_end {
        bool& flag;
        ~at_the_end() { flag = false; }
    };
    const at_the_end reset{is_releasing_ = true};
    for (release_observer* const one : observers_) one->on_release(site);
}

}  // namespace selion::onesided

namespace selion::detail {

void release_writes_slow(std::source_location site) {
    rank_context& caller = *current_context;
    caller.messages->releases.release(caller, site);
}

}  // namespace selion::detail
