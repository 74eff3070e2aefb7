// SPDX-License-Identifier: Apache-2.0
#include "machine/node/thread_waiter.hpp"

#include "machine/node/sleep_protocol.hpp"
#include "machine/node/turns.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::node {

bool thread_waiter::wait(const wait_request& request) {
    mail_room* const mail = setting_.mail;
    if (mail == nullptr || !mail->has_notifier()) return wait_serving(request, mail);
    mail->attend();
    const bool has_arrived = wait_serving(request, mail);
    mail->leave(*detail::current_context, setting_.bell_number);
    return has_arrived;
}

bool thread_waiter::wait_serving(const wait_request& request, mail_room* mail) {
    detail::rank_context& self = *detail::current_context;
    const auto has_mail = [&] { return mail != nullptr && mail->has_mail(); };
    const auto look = [&] {
        return request.has_arrived() || (mail != nullptr && mail->serve(self));
    };
    host_access access(*setting_.control, setting_.is_shared, request.deadline_ns);
    ends_early_ = false;
    while (true) {
        switch (stay_awake({setting_.how_long, turn_watch(self), request.deadline_ns}, look)) {
            case idle_outcome::arrived: break;
            case idle_outcome::late: return request.has_arrived();
            case idle_outcome::tired:
                // What is there although nobody serves it, another thread of the rank is at.
                if (has_mail()) turn_watch(self).yield();
                sleep(request, access, [&] { return request.has_arrived() || has_mail(); });
        }
        if (request.has_arrived()) return true;
        if (ends_early_) return false;
        // Messages that come again and again are no reason to stay.
        const bool has_deadline = request.deadline_ns != no_deadline;
        if (has_deadline && steady_now_ns() >= request.deadline_ns) return false;
    }
}

/// Until something arrives, or the deadline.
template <class Look>
void thread_waiter::sleep(const wait_request& request, host_access& access, Look arrived) {
    while (!arrived()) {
        if (request.deadline_ns != no_deadline && steady_now_ns() >= request.deadline_ns) return;
        const std::uint32_t self = setting_.bell_number + 1;
        const std::uint32_t on = request.others.empty()
                                     ? name_of_word(*setting_.control, request.word)
                                     : sleep_protocol::any_word;
        const std::uint32_t count = sleep_protocol::announce(access, *setting_.bell, on);
        sleep_protocol::mark(access, request.word, self);
        for (const awaited_word& other : request.others) {
            sleep_protocol::mark(access, *other.word, self);
        }
        if (setting_.mail) sleep_protocol::mark(access, setting_.mail->arrivals(), self);
        turn_watch(*detail::current_context).leave_for([&] {
            sleep_protocol::sleep_unless(access, *setting_.bell, count, arrived);
        });
    }
}

}  // namespace selion::machine::node

namespace selion::detail {

[[gnu::hot]] bool word_arrives_between_yields(const rank_context& context, const shared_word& word,
                                              std::uint64_t at_least) noexcept {
    const machine::call_record* const record = context.call;
    // `context` may be the rank's other thread's.
    machine::node::turn_watch turns(*current_context);
    const std::uint32_t looks = context.brief_yields;
    for (std::uint32_t look = 0; look < looks; ++look) {
        if (!turns.yield_if_quick()) return false;
        // What comes next, while the word is on its way: their translations are gone as well.
        __builtin_prefetch(&context);
        __builtin_prefetch(record, 1);
        if (word_load(word) >= at_least) return true;
    }
    return false;
}

}  // namespace selion::detail
