// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/rank_deaths.hpp"

#include "machine/call_record.hpp"
#include "machine/fabric/port.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::fabric {

void rank_deaths::bury(detail::rank_context& server) {
    // acquire: what handlers may use [rank.begun]
    if (std::atomic_ref(server.call->has_begun).load(std::memory_order_acquire) == 0) return;
    // acquire and release: what the last one who buried did [deaths.buried]
    if (buries_.test_and_set(std::memory_order_acquire)) return;
    while (const auto rank = list_.next_untold()) {
        // Another thread serves: whoever looks next goes on here.
        if (!frames_->bury(server, *rank)) break;
        lose_answers_(server, *rank);
        detail::word_changed(server, list_.tell_next());
    }
    buries_.clear(std::memory_order_release);  // [deaths.buried]
}

}  // namespace selion::machine::fabric
