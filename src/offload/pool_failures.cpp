// SPDX-License-Identifier: Apache-2.0
// Workers that die, and calls that take too long.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <ranges>
#include <utility>
#include <vector>

#include "offload/pool_state.hpp"

namespace selion::detail {
namespace {

std::exception_ptr death(const pending_call& call, std::uint32_t worker,
                         const std::string& ending) {
    return std::make_exception_ptr(
        error(status::rank_dead,
              fmt::format("worker {} {} while it ran routine \"{}\"", worker, ending, call.name)));
}

}  // namespace

std::exception_ptr cancelled(const pending_call& call) {
    return std::make_exception_ptr(
        error(status::bad_argument,
              fmt::format("the call of routine \"{}\" was cancelled before a worker had begun it",
                          call.name)));
}

std::exception_ptr lateness(const pending_call& call) {
    return std::make_exception_ptr(
        error(status::timed_out,
              fmt::format("the call of routine \"{}\" was not done within its time", call.name)));
}

void pool_state::look_after_workers() {
    for (std::uint32_t worker = 0; worker < size(); ++worker) {
        const std::optional<std::string> ending = workers_->ending(worker);
        if (ending) bury(worker, *ending);
    }
}

/// What it had finished counts, what it had begun fails, the rest goes to its successor or to
/// others.
void pool_state::bury(std::uint32_t worker, const std::string& ending) {
    collect_from(worker);
    worker_place& place = places_[worker];
    const std::uint64_t begun = workers_->begun(worker);
    std::vector<pending_call*> left(place.sent.begin(), place.sent.end());
    std::erase(left, nullptr);  // others have these
    place.sent.clear();
    for (pending_call* const call : left | std::views::reverse) {
        if (call->turn > begun && !call->is_settled && !call->is_cancelled) {
            wait_again(*call);
        } else {
            free_spans(worker, *call);
        }
    }
    for (pending_call* const call : left) {
        if (call->now == pending_call::phase::waiting) continue;
        const bool was_spared = call->turn > begun && call->is_cancelled;
        end(*call, was_spared ? cancelled(*call) : death(*call, worker, ending));
    }
    place.begin_anew();
    replace(worker);
}

void pool_state::kill_workers() {
    expect_open();
    if (!workers_->can_kill()) {
        throw error(status::not_available,
                    "workers that are threads or ranks cannot be killed: cancel their calls, and "
                    "have routines look at worker::is_cancelled");
    }
    are_killed_ = true;
    workers_->kill_all();
    for (std::uint32_t worker = 0; worker < size(); ++worker) {
        if (!places_[worker].gone) bury(worker, "was killed with its pool");
    }
}

/// While its successor starts, the others go on, as they do if none can be had.
void pool_state::replace(std::uint32_t worker) {
    try {
        if (are_killed_) throw error(status::bad_argument, "the pool's workers have been killed");
        workers_->replace(worker);
        ++counts_.replaced;
        places_[worker].is_renewed = has_successors_ = true;
    } catch (...) {
        leave_empty(worker, std::current_exception());
    }
}

/// Calls that only this one could have had fail, and all if it was the last.
void pool_state::leave_empty(std::uint32_t worker, std::exception_ptr why) {
    worker_place& place = places_[worker];
    place.gone = std::move(why);
    const bool is_last = least_loaded() == any_worker;
    const std::deque<pending_call*> pinned = place.pinned;
    const std::deque<pending_call*> others = is_last ? waiting_ : std::deque<pending_call*>();
    for (const auto& queue : {pinned, others}) {
        for (pending_call* const call : queue) {
            remove_waiting(*call);
            end(*call, place.gone);
        }
    }
}

/// When the first call is late that has not been given up yet.
std::int64_t pool_state::first_deadline() const {
    std::int64_t first = machine::no_deadline;
    const auto look_at = [&](const std::deque<pending_call*>& calls) {
        for (const pending_call* const call : calls) {
            if (call == nullptr || call->is_settled) continue;
            first = std::min(first, call->deadline_ns);
        }
    };
    look_at(waiting_);
    for (const worker_place& place : places_) {
        look_at(place.pinned);
        look_at(place.sent);
    }
    return first;
}

/// Calls that have been given up are looked at again: it may be that their worker had begun them
/// without having seen it.
void pool_state::look_at_deadlines() {
    collect();
    const std::int64_t now_ns = workers_->now_ns();
    std::vector<pending_call*> late;
    const auto look_at = [&](const std::deque<pending_call*>& calls) {
        for (pending_call* const call : calls) {
            if (call != nullptr && call->deadline_ns <= now_ns) late.push_back(call);
        }
    };
    look_at(waiting_);
    for (const worker_place& place : places_) {
        look_at(place.pinned);
        look_at(place.sent);
    }
    for (pending_call* const call : late) give_up(*call);
}

void pool_state::give_up(pending_call& call) {
    if (call.now == pending_call::phase::waiting) {
        remove_waiting(call);
        return end(call, lateness(call));
    }
    if (!call.is_settled) {
        settle(call, lateness(call));
        workers_->cancel(call.worker, call.turn);
    }
    if (workers_->can_kill()) workers_->kill_in(call.worker, call.turn);
}

}  // namespace selion::detail
