// SPDX-License-Identifier: Apache-2.0
#include "onesided/completion_queue.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "machine/extended_wait.hpp"
#include "machine/waiter.hpp"
#include "onesided/message_state.hpp"
#include "selion/counter.hpp"

namespace selion::onesided {
namespace {

/// A completion handler runs on the rank's own stack.
class completion_scope {
public:
    explicit completion_scope(detail::rank_context& context)
        : context_(context),
          // The call that runs it may have looked at counters already.
          counts_alone_(std::exchange(context.own.counts_alone, false)),
          // Collectives are not allowed, which plain ones do not look at.
          plain_caller_(std::exchange(context.own.plain_caller, &detail::no_plain_caller)),
          // Those of the collective that waits: the handler is no part of it.
          deadline_ns_(std::exchange(context.own.deadline_ns, machine::no_deadline)),
          outer_deadline_ns_(context.own.outer_deadline_ns),
          needs_(std::exchange(context.own.needs, nullptr)),
          was_in_one_(machine::look_at(context.call->in_completion)) {
        context.own.outer_deadline_ns = std::min(deadline_ns_, outer_deadline_ns_);
        machine::publish(context.call->in_completion, 1u);
    }
    ~completion_scope() {
        context_.own.outer_deadline_ns = outer_deadline_ns_;
        context_.own.needs = needs_;
        context_.own.deadline_ns = deadline_ns_;
        context_.own.plain_caller = plain_caller_;
        context_.own.counts_alone = counts_alone_;
        machine::publish(context_.call->in_completion, was_in_one_);
    }
    completion_scope(const completion_scope&) = delete;
    completion_scope& operator=(const completion_scope&) = delete;

private:
    detail::rank_context& context_;
    bool counts_alone_;
    const void* plain_caller_;
    std::int64_t deadline_ns_;
    std::int64_t outer_deadline_ns_;
    const needed_ranks* needs_;
    std::uint32_t was_in_one_;
};

void free_list(ripe_completion* first) {
    while (first != nullptr) delete std::exchange(first, first->next);
}

}  // namespace

completion_queue::~completion_queue() {
    free_list(added_.load(std::memory_order_relaxed));
    while (!brief_.empty()) delete brief_.pop();
    while (!in_order_.empty()) delete in_order_.pop();
}

void completion_queue::add(detail::rank_context& handler, const ripe_completion& what) {
    auto* const kept = new ripe_completion(what);
    added_count_.fetch_add(1, std::memory_order_relaxed);
    if (handler.host->launcher().call_beside(handler, run_one, kept)) return;
    add_kept(handler, *kept);
}

void completion_queue::add_to_own_stack(detail::rank_context& handler,
                                        const ripe_completion& what) {
    auto* const kept = new ripe_completion(what);
    added_count_.fetch_add(1, std::memory_order_relaxed);
    add_kept(handler, *kept);
}

void completion_queue::add_kept(detail::rank_context& handler, ripe_completion& kept) {
    kept.next = added_.load(std::memory_order_relaxed);
    // release: what it holds; pairs with who takes it [completion.added]
    while (!added_.compare_exchange_weak(kept.next, &kept, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
    if (!are_added_within_calls(handler)) return detail::count_together(handler, ripe_);
    detail::word_add_quietly(ripe_, 1);
    handler.own.has_ripe = true;
    handler.waiter->end_early();
}

/// By the rank's own stack, as all that follows.
void completion_queue::take_added() {
    // acquire: what they hold [completion.added]
    ripe_completion* last = added_.exchange(nullptr, std::memory_order_acquire);
    ripe_completion* first = nullptr;
    while (last != nullptr) {
        ripe_completion* const before = std::exchange(last->next, first);
        first = std::exchange(last, before);
    }
    while (first != nullptr) {
        ripe_completion& one = *std::exchange(first, first->next);
        (one.is_brief ? brief_ : in_order_).push(one);
    }
}

/// @pre there is one.
ripe_completion* completion_queue::take() {
    if (brief_.empty() && in_order_.empty()) take_added();
    ++started_;
    return brief_.empty() ? in_order_.pop() : brief_.pop();
}

/// Those that have come by now, in the wait of one that may wait.
void completion_queue::run_brief(detail::rank_context& caller) {
    if (!may_run_brief(caller)) return;
    if (added_.load(std::memory_order_relaxed) != nullptr) take_added();
    if (brief_.empty()) return;
    const machine::pause_in_call in_its_own_name(*caller.call);
    while (!brief_.empty()) {
        ++started_;
        run_one(caller, brief_.pop());
    }
}

/// In the caller's next look, without a wait.
bool completion_queue::has_one_to_run(const detail::rank_context& caller) const {
    if (is_run_by(caller)) return caller.own.has_ripe;
    if (!may_run_brief(caller)) return false;
    return !brief_.empty() || added_.load(std::memory_order_relaxed) != nullptr;
}

/// Those that have come by now: others that follow must not keep the caller for ever.
void completion_queue::run_ripe(detail::rank_context& caller) {
    const std::uint64_t goal = detail::word_load(ripe_);
    const machine::pause_in_call in_its_own_name(*caller.call);
    while (started_ < goal) run_one(caller, take());
    caller.own.has_ripe = started_ != detail::word_load(ripe_);
}

void completion_queue::run_one(detail::rank_context& context, void* what) {
    const std::unique_ptr<ripe_completion> kept(static_cast<ripe_completion*>(what));
    bool& is_in_brief = context.messages->completions.is_in_brief_;
    if (kept->is_brief) is_in_brief = true;
    {
        std::optional<completion_scope> scope;
        if (!context.is_foreign_thread) scope.emplace(context);
        run_completion(context, *kept);
    }
    if (kept->is_brief) is_in_brief = false;
    detail::count_together(context, context.messages->completions.finished_);
}

/// A wait that one which has come ends early is begun again.
bool completion_queue::await_within_calls(detail::rank_context& caller,
                                          const machine::wait_request& request) {
    while (true) {
        run(caller);
        // One that has come while others ran has not ended a wait.
        const bool may_sleep = !has_one_to_run(caller);
        if (may_sleep ? caller.clock->wait(caller, request) : request.has_arrived()) return true;
        const bool has_deadline = request.deadline_ns != machine::no_deadline;
        if (has_deadline && caller.clock->now_ns() >= request.deadline_ns) return false;
    }
}

bool completion_queue::await(detail::rank_context& caller, const machine::wait_request& request) {
    if (are_added_within_calls(caller)) return await_within_calls(caller, request);
    if (is_run_by(caller)) return await_either(caller, request);
    if (may_run_brief(caller)) return await_in_completion(caller, request);
    const bool moves = !caller.own.in_handler && caller.messages->above.move != nullptr;
    return moves ? await_and_move(caller, request) : caller.clock->wait(caller, request);
}

void completion_queue::move_above(detail::rank_context& caller) {
    const auto& above = caller.messages->above;
    if (!caller.own.in_handler && above.move != nullptr) above.move(above.argument);
}

/// What comes after the looks at the counts ends the wait.
bool completion_queue::await_in_completion(detail::rank_context& caller,
                                           const machine::wait_request& request) {
    machine::extended_wait any(request, 2);
    auto& above = caller.messages->above;
    while (true) {
        const machine::awaited_word news{&above.news, detail::word_load(above.news) + 1};
        const machine::awaited_word ripe{&ripe_, detail::word_load(ripe_) + 1};
        run_brief(caller);
        move_above(caller);
        const bool is_early = caller.clock->wait(caller, any.until_also(news, ripe));
        const bool has_arrived = request.has_arrived();
        if (has_arrived || !is_early) return has_arrived;
    }
}

/// As above, of a thread that runs none.
bool completion_queue::await_and_move(detail::rank_context& caller,
                                      const machine::wait_request& request) {
    machine::extended_wait either(request);
    auto& above = caller.messages->above;
    while (true) {
        const machine::awaited_word news{&above.news, detail::word_load(above.news) + 1};
        above.move(above.argument);
        const bool is_early = caller.clock->wait(caller, either.until_also(news));
        const bool has_arrived = request.has_arrived();
        if (has_arrived || !is_early) return has_arrived;
    }
}

bool completion_queue::await_either(detail::rank_context& caller,
                                    const machine::wait_request& request) {
    machine::extended_wait either(request);
    while (true) {
        const bool is_early = caller.clock->wait(caller, either.until_also({&ripe_, started_ + 1}));
        const bool has_arrived = request.has_arrived();
        run(caller);
        if (has_arrived || !is_early) return has_arrived;
    }
}

std::uint64_t completion_queue::finish(detail::rank_context& own) {
    while (true) {
        const std::uint64_t goal = added_count_.load(std::memory_order_relaxed);
        if (detail::word_load(finished_) >= goal) return goal;
        await(own, {.word = finished_,
                    .at_least = goal,
                    .reason = machine::wait_reason::message,
                    .others = {}});
    }
}

}  // namespace selion::onesided
