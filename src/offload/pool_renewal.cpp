// SPDX-License-Identifier: Apache-2.0
// Workers that are replaced because they have done enough, and how those come that take a place.
#include <exception>

#include "offload/pool_state.hpp"

namespace selion::detail {

void pool_state::limit_calls(std::uint64_t most) {
    expect_open();
    if (!workers_->can_renew()) {
        throw error(status::not_available,
                    "workers that are threads or ranks cannot be replaced after some calls: only "
                    "processes can");
    }
    most_taken_ = most;
}

/// What a worker keeps for a call that is over, its caller may still fetch.
void pool_state::hold_worker(std::uint32_t worker, pending_call& call) {
    if (!call.is_kept) return;
    call.generation = places_[worker].generation;
    ++places_[worker].held;
}

/// Those that are not to have any more calls go as soon as nobody wants anything of them; while
/// successors start, of these and of those that have died, the others go on.
void pool_state::renew_spent() {
    has_successors_ = false;
    for (std::uint32_t worker = 0; worker < size(); ++worker) {
        worker_place& place = places_[worker];
        if (place.gone) continue;
        if (place.is_renewed) {
            await_successor(worker);
            continue;
        }
        const bool is_idle = place.sent.empty() && place.pinned.empty() && place.held == 0;
        if (!is_idle || !is_spent(place)) continue;
        workers_->renew(worker);
        place.begin_anew();
        place.is_renewed = has_successors_ = true;
    }
}

/// One look: it does not wait.
void pool_state::await_successor(std::uint32_t worker) {
    worker_place& place = places_[worker];
    try {
        place.is_renewed = !workers_->is_there(worker);
        has_successors_ |= place.is_renewed;
    } catch (...) {
        place.is_renewed = false;
        leave_empty(worker, std::current_exception());
    }
}

}  // namespace selion::detail
