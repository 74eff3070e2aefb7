// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "machine/machine.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/expect.hpp"

namespace selion::detail {

inline void expect_may_wait(const rank_context& context, std::source_location site) {
    SELION_EXPECT_AT(!context.in_handler, site,
                     std::string("a handler must not wait: it runs while its rank serves messages; "
                                 "start the operation and let its completion start what follows"));
}

/// @param timeout_ns negative: for ever.
inline std::int64_t deadline_after(rank_context& context, std::int64_t timeout_ns) {
    if (timeout_ns < 0) return machine::no_deadline;
    const std::int64_t now_ns = context.clock->now_ns();
    return timeout_ns > machine::no_deadline - now_ns ? machine::no_deadline : now_ns + timeout_ns;
}

/// Serves what has come, once. Where other ranks share the thread it is their turn then, so that a
/// loop of looks does not keep them from what it looks for.
inline bool make_progress(rank_context& context) {
    const bool has_served = context.transport->poll(context);
    if (context.group_size > 1 && !context.in_handler) {
        shared_word never{0, 0, 0};
        constexpr std::int64_t at_once = 0;
        context.clock->wait(context, {.word = never,
                                      .at_least = 1,
                                      .reason = machine::wait_reason::message,
                                      .deadline_ns = at_once});
    }
    return has_served;
}

/// Looks at a word for a microsecond or two and serves messages meanwhile: an answer that is on its
/// way comes as one. Not where another thread may serve: it would be woken for nothing.
inline bool arrives_with_progress(rank_context& context, const shared_word& word,
                                  std::uint64_t at_least) {
    const std::uint32_t looks = context.has_one_thread ? context.brief_looks : 0;
    for (std::uint32_t look = 0; look < looks; ++look) {
        if (word_load(word) >= at_least) return true;
        if (!context.transport->poll(context)) pause_processor();
    }
    return false;
}

}  // namespace selion::detail
