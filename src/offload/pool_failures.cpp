// SPDX-License-Identifier: Apache-2.0
// Workers that die, and calls that take too long.
#include <fmt/format.h>

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

std::exception_ptr lateness(const pending_call& call) {
    return std::make_exception_ptr(
        error(status::timed_out,
              fmt::format("the call of routine \"{}\" was not done within its time", call.name)));
}

}  // namespace

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
    place.sent.clear();
    for (pending_call* const call : left | std::views::reverse) {
        free_spans(worker, *call);
        if (call->turn <= begun || call->is_settled) continue;
        std::deque<pending_call*>& queue =
            call->wanted_worker == any_worker ? waiting_ : place.pinned;
        queue.push_front(call);
        call->now = pending_call::phase::waiting;
        ++waiting_count_;
    }
    for (pending_call* const call : left) {
        if (call->now != pending_call::phase::waiting) end(*call, death(*call, worker, ending));
    }
    workers_->replace(worker);
    ++place.generation;
    place.last_turn = 0;
    place.memory = {};
    ++counts_.replaced;
}

void pool_state::look_at_deadlines() {
    const std::int64_t now_ns = workers_->now_ns();
    std::vector<pending_call*> late;
    const auto look_at = [&](const std::deque<pending_call*>& calls) {
        for (pending_call* const call : calls) {
            if (!call->is_settled && call->deadline_ns <= now_ns) late.push_back(call);
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
    settle(call, lateness(call));
    workers_->cancel(call.worker, call.turn);
    const bool is_running = workers_->begun(call.worker) == call.turn;
    if (is_running && workers_->can_kill()) workers_->kill(call.worker);
}

}  // namespace selion::detail
