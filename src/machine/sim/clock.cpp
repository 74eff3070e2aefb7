// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "machine/sim/simulation.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::sim {
namespace {

/// Mark of a word on which several ranks wait; else it is the number of one + 1.
constexpr std::uint32_t several = UINT32_MAX;

/// What helps against too much virtual time, where the program has said how much.
constexpr std::string_view charge_less = "; charge less";
constexpr std::string_view give_shorter_limit = ", in a wait; give that a limit that comes before";

/// Work of a processor. What it leaves of a tick is the rank's next work; but where a tick is a
/// picosecond, only what all of it comes to if that is less than a tick: more counts for nothing.
struct charged_work {
    ticks time = 0;
    std::int64_t fraction = 0;  ///< 2^-20 ticks

    void add(const rate& each, std::uint64_t count) {
        time += each.of(count);
        fraction += each.fraction_of(count);
    }
    /// The whole ticks that it takes, at most `longest_time`; after that there is no work.
    /// @param unspent what the rank's work has left, in 2^-20 ticks.
    ticks take(const rate& slowness, const tick_length& tick, std::uint32_t& unspent) {
        if (time != 0 && tick.numerator_ps == tick.denominator) {
            return slowness.of(static_cast<std::uint64_t>(std::exchange(*this, {}).time));
        }
        const wide once = (static_cast<wide>(time) << 20) + fraction;
        const wide all = ((once * slowness.scaled) >> 20) + unspent;
        *this = {};
        unspent = static_cast<std::uint32_t>(all & 0xfffff);
        return static_cast<ticks>(std::min<wide>(all >> 20, longest_time));
    }
};

/// A rank waits for the word, too, of which it may have said so before.
void note_sleeper(detail::shared_word& word, std::uint32_t rank) {
    word.sleeper = word.sleeper == 0 || word.sleeper == rank + 1 ? rank + 1 : several;
}

}  // namespace

/// The first look at a clock or a word costs nothing, so that differences of times are exact. A
/// rank that looks again, and has done nothing in between that took time, waits for something to
/// happen: then time must pass.
void simulation::poll(rank_state& rank) {
    if (!rank.polled_just_now) {
        rank.polled_just_now = true;
        return engine_.catch_up();
    }
    // A rank that looks again and again disturbs nobody: for a bus it waits.
    const std::uint32_t number = rank.context.rank;
    ticks& now = rank.self->now;
    if (follower_ != nullptr) follower_->rank_is_idle(engine_, number, now);
    spend_poll(rank);
    engine_.catch_up();
    if (follower_ != nullptr) now = follower_->rank_computes(number, now);
}

void simulation::spend_poll(rank_state& rank) {
    ticks& now = time_of(rank);
    now += std::max<ticks>(stretched(rank, processor_of(rank.context.rank).poll), 1);
    check_time(rank, now);
}

/// Interrupts lengthen what a rank has computed, which it learns when it falls in with the others.
bool simulation::takes_time_unseen() const {
    const reception_model& how = model_.reception;
    return how.kind == reception_kind::interrupt && !how.has_own_processor;
}

/// Others may take time of a rank that computes; no look at a clock pays for hearing of it.
bool simulation::may_lose_time_unseen() const {
    const reception_model& how = model_.reception;
    const bool retransmits =
        how.kind == reception_kind::polling && how.retransmission != 0 && !how.has_own_processor;
    return retransmits || (model_.network == network_kind::bus && !model_.bus.has_dma);
}

std::int64_t simulation::now_ps() {
    rank_state& rank = calling_rank();
    const call entered(*this, rank.context, false);
    if (handler_ != nullptr) {
        // Its time passes when nothing else does, as a rank's own.
        if (handler_->looked_at == handler_->now) spend_poll(rank);
        handler_->looked_at = handler_->now;
        return model_.tick.to_ps(handler_->now);
    }
    if (rank.polled_just_now || takes_time_unseen()) {
        poll(rank);
    } else {
        rank.polled_just_now = true;
        if (may_lose_time_unseen()) engine_.catch_up();
    }
    return model_.tick.to_ps(rank.self->now);
}

std::int64_t simulation::stamp_ticks() {
    // Where a rank's own code takes time of the host, that is spent now; else nothing is.
    rank_state& rank = calling_rank();
    const call looked(*this, rank.context, false);
    return time_of(rank);
}

tick_scale simulation::scale_of_ticks() {
    return {.per_second = 1e12 / model_.tick.in_ps(), .per_cycle = model_.cycle_ticks};
}

std::optional<meters::router_events> simulation::router_events(detail::rank_context& context) {
    const call looked(*this, context, false);
    catch_up();  // what has happened by the rank's own time, and nothing later
    return network_->router_events(context.rank, time_of(looked.rank));
}

double simulation::latest_seconds() const {
    return static_cast<double>(latest_) * model_.tick.in_ps() * 1e-12;
}

void simulation::end_beyond_time(rank_state& rank, std::string_view cure) {
    owner_.launcher().end_job(
        rank.context, fmt::format("rank {} has spent more virtual time than is counted, {:.3g} s{}",
                                  rank.context.rank, latest_seconds(), cure));
}

/// @param cause the rank that has caused it; beyond all ranks if the wires have.
void simulation::end_beyond_time(const event& what, std::uint64_t cause) {
    if (cause >= ranks_.size()) cause = engine_.current().number;
    rank_state& rank = ranks_[cause];
    if (&what == rank.self) end_beyond_time(rank, "");
    owner_.launcher().end_job(
        rank.context,
        fmt::format("what rank {} has begun would take more virtual time than is counted, {:.3g} s",
                    rank.context.rank, latest_seconds()));
}

void simulation::charge(detail::rank_context& context, const work& amount) {
    if (setting_.host_time_scale != 0) return;  // the host's time is spent instead
    if (amount.picoseconds < 0) {
        owner_.launcher().end_job(
            context, fmt::format("rank {} charges a time of {} ps; legal are those of 0 or more",
                                 context.rank, amount.picoseconds));
    }
    const processor_costs& costs = processor_of(context.rank);
    rank_state& rank = ranks_[context.rank];
    const ticks begun = time_of(rank);
    const bool takes_turns = !nodes_.empty() && amount.flops != 0;
    charged_work work;
    work.add(costs.flop, amount.flops);
    if (takes_turns) {
        catch_up();  // threads of a core take turns at its units
        ticks& now = time_of(rank);
        now = node_of(context.rank)
                  .compute(thread_of(context.rank),
                           work.take(rank.slowness, model_.tick, rank.unspent), now);
        check_time(rank, now, charge_less);
    }
    work.add(costs.int_op, amount.int_ops);
    work.add(costs.load, amount.loads);
    work.add(costs.store, amount.stores);
    work.add(costs.copied_byte, amount.copied_bytes);
    work.time += std::min(model_.tick.from_ps(amount.picoseconds), longest_time);
    ticks& now = time_of(rank);
    now += work.take(rank.slowness, model_.tick, rank.unspent);
    check_time(rank, now, charge_less);
    note_work(rank, begun);
}

void simulation::fall_in(detail::rank_context& context) {
    const call entered(*this, context, false);
    catch_up();
}

/// One beyond the end of time is that: a wait that is over before needs no more.
ticks simulation::deadline_of(const wait_request& request) const {
    if (request.deadline_ns == no_deadline) return end_of_time;
    constexpr std::int64_t ps_in_ns = 1000;
    if (request.deadline_ns > INT64_MAX / ps_in_ns) return latest_;
    return std::min(model_.tick.from_ps(request.deadline_ns * ps_in_ns), latest_);
}

bool simulation::wait(detail::rank_context& context, const wait_request& request) {
    const call entered(*this, context);
    rank_state& rank = entered.rank;
    detail::shared_word& word = request.word;
    // Nobody else waits for a word that only its owner can address. Writing before reading spares a
    // fresh page its second fault, which counts where ranks are many.
    const bool is_alone = context.simulated == nullptr;
    if (!is_alone) spend_access(rank, &word, access_kind::read);
    if (is_alone) word.sleeper = context.rank + 1;
    if (request.has_arrived()) {
        if (is_alone) word.sleeper = 0;
        return true;
    }
    const ticks deadline = deadline_of(request);
    if (deadline <= rank.self->now) {
        poll(rank);
        if (is_alone) word.sleeper = 0;
        return request.has_arrived();
    }
    const ticks begun = rank.self->now;
    rank.awaited = &word;
    rank.at_least = request.at_least;
    rank.others = request.others;
    for (const awaited_word& other : request.others) note_sleeper(*other.word, context.rank);
    rank.has_timed_out = false;
    if (!is_alone) note_sleeper(word, context.rank);
    if (deadline != end_of_time) {
        rank.deadline.rank = &rank;
        rank.deadline.act = [](engine& host, event& due) {
            rank_state& late = *static_cast<rank_event&>(due).rank;
            auto& all = static_cast<simulation&>(*late.context.clock);
            if (host.now() == all.latest_) all.end_beyond_time(late, give_shorter_limit);
            late.has_timed_out = true;
            host.resume_at(*late.self, host.now());
        };
        engine_.schedule(rank.deadline, deadline, *rank.self);
    }
    while (!request.has_arrived() && !rank.has_timed_out) {
        stand_still(rank, standstill::word);
    }
    if (deadline != end_of_time) engine_.cancel(rank.deadline);
    rank.awaited = nullptr;
    rank.others = {};
    if (word.sleeper == context.rank + 1) word.sleeper = 0;
    for (const awaited_word& other : request.others) {
        if (other.word->sleeper == context.rank + 1) other.word->sleeper = 0;
    }
    // A rank that has run ahead may have had to stop for what was there already at its own time.
    if (context.recorder != nullptr && rank.self->now > begun) note_wait(rank, request, begun);
    return request.has_arrived();
}

void simulation::wake(detail::rank_context&, detail::shared_word& word) { word_has_changed(word); }

void simulation::count(detail::rank_context&, detail::shared_word& word) {
    ++word.value;
    word_has_changed(word);
}

void simulation::change_word(detail::shared_word& word, detail::signal_update update) {
    word.value = update.adds ? word.value + update.amount : update.amount;
    word_has_changed(word);
}

/// Lets those go on whose value has come.
void simulation::word_has_changed(detail::shared_word& word) {
    if (word.sleeper == 0) return;
    const auto look_at_rank = [&](rank_state& rank) {
        if (!rank.awaits(word)) return;
        ticks seen_at = handler_ != nullptr ? handler_->now : engine_.now();
        if (!nodes_.empty()) {
            // It spins on its own copy, which has just become invalid, and fetches the line again.
            const std::uint32_t number = rank.context.rank;
            seen_at =
                model_.node->wake + node_of(number).access(thread_of(number), line_place(&word),
                                                           access_kind::read, seen_at);
        }
        if (word.value < rank.goal_of(word)) return;
        if (!engine::is_armed(*rank.self)) engine_.resume_at(*rank.self, seen_at);
    };
    if (word.sleeper != several) return look_at_rank(ranks_[word.sleeper - 1]);
    // Those of the process whose word it is; of the library's own memory nobody can say whose.
    const auto* place = reinterpret_cast<const std::byte*>(&word);
    const std::uint64_t owner =
        static_cast<std::uint64_t>(place - segments_.slice(0)) / segments_.stride_bytes();
    std::uint32_t first = 0;
    std::uint32_t end = model_.ranks;
    if (owner < model_.ranks) {
        first = static_cast<std::uint32_t>(owner) / ranks_per_process_ * ranks_per_process_;
        end = std::min(first + ranks_per_process_, end);
    }
    for (std::uint32_t rank = first; rank < end; ++rank) look_at_rank(ranks_[rank]);
}

}  // namespace selion::machine::sim
