// SPDX-License-Identifier: Apache-2.0
// Calls that wait behind a long one go to workers that have nothing to do.
#include <algorithm>
#include <cstddef>
#include <iterator>

#include "offload/pool_state.hpp"

namespace selion::detail {
namespace {

/// Another worker than the one that has been sent it may have it, as far as the call is concerned.
bool may_move(const pending_call* call) {
    return call != nullptr && call->wanted_worker == any_worker && !call->is_settled &&
           !call->is_cancelled && !call->may_have_begun;
}

}  // namespace

/// One call for each worker that has nothing to do.
void pool_state::relieve_workers() {
    const auto has_stuck = [](const worker_place& place) {
        return place.sent.size() > 1 &&
               std::any_of(place.sent.begin() + 1, place.sent.end(), may_move);
    };
    if (under_way_ <= 1 || !workers_->can_take_back()) return;
    for (std::uint32_t worker = 0; worker < size(); ++worker) {
        if (!is_idle(places_[worker])) continue;
        is_uneven_ = false;
        if (std::ranges::none_of(places_, has_stuck)) return;
        pending_call* const call = stuck_call(worker);
        is_uneven_ = call != nullptr && take_back(*call);
        if (is_uneven_) static_cast<void>(offer(worker, *call));
    }
}

/// What it could have had of the calls that wait it has been sent already.
bool pool_state::is_idle(const worker_place& place) const {
    return !place.gone && !place.is_renewed && place.reserved == 0 && !is_spent(place) &&
           place.sent.empty() && place.pinned.empty();
}

/// Of all workers the one with most calls under way, and of its calls the oldest that waits behind
/// another and that the idle worker can have.
/// @return null: there is none.
pending_call* pool_state::stuck_call(std::uint32_t worker) {
    pending_call* found = nullptr;
    std::ptrdiff_t most = 0;
    for (const worker_place& place : places_) {
        const std::ptrdiff_t load =
            std::ssize(place.sent) - std::ranges::count(place.sent, nullptr);
        if (place.sent.empty() || load <= most) continue;
        const auto call = std::find_if(
            place.sent.begin() + 1, place.sent.end(),
            [&](pending_call* each) { return may_move(each) && could_have(worker, *each); });
        if (call == place.sent.end()) continue;
        found = *call;
        most = load;
    }
    return found;
}

/// The same as `can_have`, of a call that another worker has.
bool pool_state::could_have(std::uint32_t worker, pending_call& call) {
    const auto there = call.spans;
    for (pending_call::span_use& use : call.spans) use.is_allocated = false;
    const bool can = can_have(worker, call);
    call.spans = there;
    return can;
}

/// @return false: its worker may have it in hand.
bool pool_state::take_back(pending_call& call) {
    call.may_have_begun = !workers_->take_back(call.worker, call.turn);
    if (call.may_have_begun) return false;
    worker_place& place = places_[call.worker];
    std::ranges::replace(place.sent, &call, nullptr);
    --place.taken;
    wait_again(call);
    return true;
}

}  // namespace selion::detail
