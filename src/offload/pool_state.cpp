// SPDX-License-Identifier: Apache-2.0
#include "offload/pool_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/nearest_name.hpp"
#include "base/units.hpp"

namespace selion::detail {
namespace {

constexpr std::uint32_t standard_depth = 2;

std::string text_of(std::span<const routine_parameter> parameters) {
    std::vector<std::string> texts;
    for (const routine_parameter& one : parameters) texts.push_back(detail::text_of(one));
    return fmt::format("({})", fmt::join(texts, ", "));
}

/// Spans that a routine only reads may be given as ones that it could write.
bool fits(const routine_parameter& given, const routine_parameter& wanted) {
    routine_parameter as_wanted = given;
    if (given.is_span && !wanted.is_mutable) as_wanted.is_mutable = false;
    return as_wanted == wanted;
}

[[noreturn]] void refuse_name(std::string_view name,
                              const std::vector<offload::routine_shape>& routines) {
    std::vector<std::string_view> names;
    for (const offload::routine_shape& one : routines) names.push_back(one.name);
    const std::string_view nearest = base::nearest_name(name, names);
    const std::string hint =
        nearest.empty()
            ? fmt::format("it has {}", names.empty() ? std::string("none")
                                                     : fmt::format("{}", fmt::join(names, ", ")))
            : fmt::format("did you mean \"{}\"?", nearest);
    throw error(status::bad_argument,
                fmt::format("the workers' program has no routine \"{}\"; {}", name, hint));
}

void expect_arguments(std::span<const routine_parameter> arguments,
                      const offload::routine_shape& wanted) {
    if (arguments.size() != wanted.parameters.size()) {
        throw error(
            status::bad_argument,
            fmt::format("routine \"{}\" takes {} arguments, {}; the call has {}", wanted.name,
                        wanted.parameters.size(), text_of(wanted.parameters), arguments.size()));
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (fits(arguments[i], wanted.parameters[i])) continue;
        throw error(status::bad_argument,
                    fmt::format("argument {} of routine \"{}\" is {}; the call has {}", i + 1,
                                wanted.name, text_of(wanted.parameters[i]), text_of(arguments[i])));
    }
}

void expect_result(const routine_parameter& expected, const offload::routine_shape& wanted) {
    if (expected.element_bytes == 0 || expected == wanted.result) return;
    const std::string returns =
        wanted.result.element_bytes == 0 ? "nothing" : text_of(wanted.result);
    throw error(status::bad_argument, fmt::format("routine \"{}\" returns {}, not {}", wanted.name,
                                                  returns, text_of(expected)));
}

std::uint32_t number_of(std::string_view name,
                        const std::vector<offload::routine_shape>& routines) {
    const auto found = std::ranges::lower_bound(
        routines, name, {}, [](const auto& one) { return std::string_view(one.name); });
    if (found == routines.end() || found->name != name) refuse_name(name, routines);
    return static_cast<std::uint32_t>(found - routines.begin());
}

}  // namespace

pool_state::pool_state(offload::rank_part part, const worker_pool_options& options,
                       const maker& made)
    : pool_state(std::move(part.host), options, made) {
    ranks_memory_ = std::move(part.memory);
    service_ = std::move(part.worker);
}

pool_state::pool_state(std::unique_ptr<offload::worker_group> workers,
                       const worker_pool_options& options, const maker& made)
    : made_(made),
      workers_(std::move(workers)),
      most_waiting_(options.most_waiting),
      measures_(options.measures),
      is_host_(workers_ != nullptr) {
    if (!is_host_) return;
    places_.resize(workers_->size());
    const bool is_careful = workers_->wants_idle_workers();
    depth_ = options.depth != 0 && !is_careful ? options.depth : is_careful ? 1 : standard_depth;
}

offload_setting pool_state::setting() const {
    return {.workers = size(),
            .pattern = depth_ > 1 ? call_pattern::overlapped : call_pattern::pipelined};
}

void pool_state::expect_open() const {
    if (!is_host_) {
        throw error(status::bad_argument,
                    "this rank is a worker of the pool: calls are made by its host, rank 0");
    }
    if (workers_ == nullptr) {
        throw error(status::bad_argument, "the pool that this call asks for has ended");
    }
    if (!workers_->is_own()) {
        throw error(status::bad_argument,
                    "this pool belongs to the process that has forked this one: make a pool here");
    }
}

pending_call& pool_state::begin(const call_options& options) {
    expect_open();
    if (options.worker) expect_on_worker(*options.worker);
    if (free_records_ == nullptr) {
        records_.push_back(std::make_unique<pending_call>());
        free_records_ = records_.back().get();
    }
    pending_call& call = *std::exchange(free_records_, free_records_->next_free);
    call.reset();
    call.pool = this;
    if (options.worker) call.wanted_worker = *options.worker;
    if (options.timeout) {
        const std::int64_t timeout_ns = options.timeout->nanoseconds();
        call.is_late = timeout_ns == 0;
        if (timeout_ns != 0) call.deadline_ns = deadline_in(timeout_ns);
    }
    return call;
}

std::int64_t pool_state::deadline_in(std::int64_t timeout_ns) const {
    const std::int64_t now_ns = workers_->now_ns();
    const bool is_beyond = timeout_ns > machine::no_deadline - now_ns;
    return is_beyond ? machine::no_deadline : now_ns + timeout_ns;
}

void pool_state::name_routine(pending_call& call, std::string_view name,
                              std::span<const routine_parameter> arguments,
                              const routine_parameter& result) {
    const auto& routines = workers_->routines();
    const std::uint32_t number = number_of(name, routines);
    expect_arguments(arguments, routines[number]);
    expect_result(result, routines[number]);
    call.routine = number;
    call.name = routines[number].name.c_str();
    call.result_words = routines[number].result.frame_words();
}

void pool_state::name_routine(pending_call& call, const routine_entry& routine) {
    for (const auto& [entry, number] : known_) {
        if (entry != &routine) continue;
        call.routine = number;
        call.name = routine.name;
        call.result_words = routine.result.frame_words();
        return;
    }
    name_routine(call, routine.name, routine.parameters, routine.result);
    known_.emplace_back(&routine, call.routine);
}

/// What has to travel must have room on an empty worker.
void pool_state::expect_fits(const pending_call& call) const {
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < call.span_count; ++i) {
        const pending_call::span_use& use = call.spans[i];
        if (needs_room(use)) bytes += padded(use.bytes);
    }
    if (bytes <= workers_->memory_bytes()) return;
    throw error(status::bad_argument,
                fmt::format("the arguments of routine \"{}\" are {} bytes long; a worker's memory "
                            "has {}: send them in parts, or set memory_bytes",
                            call.name, bytes, workers_->memory_bytes()));
}

void pool_state::start(pending_call& call) {
    if (call.is_foreign) {
        throw error(status::bad_argument,
                    fmt::format("an argument of routine \"{}\" lies on workers of another pool",
                                call.name));
    }
    if (call.mixed_worker != any_worker) {
        throw error(status::bad_argument,
                    fmt::format("the arguments of routine \"{}\" lie on several workers, or not on "
                                "the one that is to run it",
                                call.name));
    }
    if (call.span_count != 0) expect_fits(call);
    ++under_way_;
    if (call.deadline_ns != machine::no_deadline) ++timed_;
    if (call.is_late) return end(call, lateness(call));
    const std::uint32_t worker =
        call.wanted_worker != any_worker ? call.wanted_worker : least_loaded();
    if (worker == any_worker || places_[worker].gone) {
        return end(call, places_[worker == any_worker ? 0 : worker].gone);
    }
    if (waiting_count_ == 0 && handled_ == 0) {
        collect_from(worker);
        if (places_[worker].sent.size() < depth_ && may_have(places_[worker], call)) {
            const offer_end end = offer(worker, call);
            if (end == offer_end::sent || end == offer_end::failed) {
                if (has_joined_) progress();
                return;
            }
        }
    }
    call.now = pending_call::phase::waiting;
    ++waiting_count_;
    if (call.wanted_worker == any_worker) {
        waiting_.push_back(&call);
    } else {
        places_[call.wanted_worker].pinned.push_back(&call);
    }
    if (handled_ != 0) {
        has_joined_ = true;  // who handles sends it next
        return;
    }
    progress();
    while (waiting_count_ > most_waiting_) rest_once(made_.site);
}

bool pool_state::wait(pending_call& call, const patience& how, std::source_location site) {
    if (call.is_settled) return true;
    expect_open();
    const std::uint64_t under_way = under_way_;
    progress();
    if (call.is_settled) return true;
    if (how.heeds_others && under_way_ != under_way) return false;
    const offload::worker_wait noted(made_.rank, site);
    const bool is_bounded = how.timeout_ns >= 0;
    std::int64_t deadline_ns = machine::no_deadline;
    if (is_bounded) deadline_ns = deadline_in(how.timeout_ns);
    bool looks = how.looks;
    while (true) {
        looks = rest(deadline_ns, looks, how.heeds_turns);
        progress();
        if (call.is_settled) return true;
        if (how.heeds_turns && is_wanted_.exchange(false, std::memory_order_relaxed)) return false;
        if (how.heeds_others && under_way_ != under_way) return false;
        if (is_bounded && workers_->now_ns() >= deadline_ns) return false;
    }
}

void pool_state::cancel(pending_call& call) {
    if (call.is_settled) return;
    expect_open();
    call.is_cancelled = true;
    if (call.now == pending_call::phase::waiting) {
        remove_waiting(call);
        end(call, cancelled(call));
    } else if (call.now == pending_call::phase::sent) {
        workers_->cancel(call.worker, call.turn);
    }
}

/// For who must not throw: what goes wrong is told at the end.
void pool_state::await_quietly(pending_call& call) {
    try {
        static_cast<void>(wait(call, {}, made_.site));
    } catch (...) {
        if (!unseen_) unseen_ = std::current_exception();
        ++unseen_count_;
    }
}

void pool_state::let_go(pending_call& call) {
    const bool is_under_way =
        call.now == pending_call::phase::waiting || call.now == pending_call::phase::sent;
    // The caller's memory may be gone after this.
    if (is_under_way && !call.is_settled && call.uses_callers_memory() && is_open()) {
        await_quietly(call);
    }
    call.is_kept = false;
    if (call.generation != 0) {
        worker_place& place = places_[call.worker];
        if (call.generation == place.generation) --place.held;
    }
    if (call.now == pending_call::phase::made) call.now = pending_call::phase::ended;
    if (call.is_settled && call.trouble && !call.is_awaited) note_unseen(call);
    recycle_if_done(call);
}

void pool_state::recycle_if_done(pending_call& call) {
    if (call.is_kept || call.now != pending_call::phase::ended) return;
    call.trouble = nullptr;
    call.next_free = std::exchange(free_records_, &call);
}

/// What the caller has given up it need not be told.
void pool_state::note_unseen(const pending_call& call) {
    if (call.is_cancelled) return;
    if (!unseen_) unseen_ = call.trouble;
    ++unseen_count_;
}

/// For the caller it is over.
void pool_state::settle(pending_call& call, std::exception_ptr trouble) {
    if (call.is_settled) return;
    call.is_settled = true;
    call.trouble = std::move(trouble);
    ++counts_.calls;
    if (!call.trouble) return;
    ++counts_.failed;
    if (!call.is_kept) note_unseen(call);
}

/// It is over, and no worker has it.
void pool_state::end(pending_call& call, std::exception_ptr trouble) {
    settle(call, std::move(trouble));
    call.now = pending_call::phase::ended;
    if (call.deadline_ns != machine::no_deadline) --timed_;
    --under_way_;
    recycle_if_done(call);
}

void pool_state::rest_once(std::source_location site) {
    const offload::worker_wait noted(made_.rank, site);
    rest(machine::no_deadline);
    progress();
}

void pool_state::wait_all(std::source_location site) {
    expect_open();
    progress();
    while (under_way_ != 0) rest_once(site);
}

void pool_state::serve(std::source_location site) {
    const auto own = std::move(service_);
    if (own != nullptr) own->serve(site);
}

void pool_state::close() {
    if (workers_ != nullptr && !workers_->is_own()) {
        // Those of the process that has forked this one: they are left as they are.
        static_cast<void>(workers_.release());
        return;
    }
    serve(made_.site);
    if (workers_ != nullptr) {
        wait_all(made_.site);
        const offload::worker_wait noted(made_.rank, made_.site);
        workers_.reset();
    }
    ranks_memory_.reset();
    if (!unseen_) return;
    try {
        std::rethrow_exception(std::exchange(unseen_, nullptr));
    } catch (const std::exception& first) {
        base::say(
            fmt::format("{} calls of a worker pool have failed and nobody has asked; the "
                        "first: {}",
                        unseen_count_, first.what()));
    }
}

}  // namespace selion::detail
