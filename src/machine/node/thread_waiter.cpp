// SPDX-License-Identifier: Apache-2.0
#include "machine/node/thread_waiter.hpp"

#include <sched.h>

#include "machine/node/sleep_protocol.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::node {

bool thread_waiter::wait(const wait_request& request) {
    const auto arrived = [&] { return detail::word_load(request.word) >= request.at_least; };
    switch (stay_awake(setting_.how_long, request.deadline_ns, arrived)) {
        case idle_outcome::arrived: return true;
        case idle_outcome::late: return false;
        case idle_outcome::tired: break;
    }
    host_access access(*setting_.control, setting_.is_shared, request.deadline_ns);
    while (!arrived()) {
        if (request.deadline_ns != no_deadline && steady_now_ns() >= request.deadline_ns) {
            return false;
        }
        const std::uint32_t count = sleep_protocol::announce(access, *setting_.bell);
        sleep_protocol::mark(access, request.word, setting_.bell_number + 1);
        sleep_protocol::sleep_unless(access, *setting_.bell, count, arrived);
    }
    return true;
}

}  // namespace selion::machine::node

namespace selion::detail {

bool word_arrives_between_yields(const rank_context& context, const shared_word& word,
                                 std::uint64_t at_least) noexcept {
    for (std::uint32_t look = 0; look < context.brief_yields; ++look) {
        sched_yield();
        if (word_load(word) >= at_least) return true;
    }
    return false;
}

}  // namespace selion::detail
