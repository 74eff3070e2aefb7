// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "selion/detail/future_state.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::onesided {

/// Fulfils a future by other news than a message; what continues runs as a handler does all the
/// same, also on a thread that waits for counters at this moment.
inline void fulfil_as_handler(detail::future_state& result) {
    detail::rank_context& caller = *detail::current_context;
    const bool was_in_handler = std::exchange(caller.own.in_handler, true);
    const bool counts_alone = std::exchange(caller.own.counts_alone, false);
    const void* const plain = std::exchange(caller.own.plain_caller, &detail::no_plain_caller);
    detail::fulfil(result);
    caller.own.plain_caller = plain;
    caller.own.counts_alone = counts_alone;
    caller.own.in_handler = was_in_handler;
}

}  // namespace selion::onesided
