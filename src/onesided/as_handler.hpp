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
    detail::working_mode& mode = caller.own;
    const detail::working_mode before = std::exchange(mode, detail::mode_of_handlers);
    detail::fulfil(result);
    mode = before;
}

}  // namespace selion::onesided
