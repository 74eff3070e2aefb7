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
