// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "machine/sim/simulation.hpp"
#include "meters/record/recorder.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::sim {
namespace {

/// Mark of a word on which several ranks wait; else it is the number of one + 1.
constexpr std::uint32_t several = UINT32_MAX;

}  // namespace

/// The first look at the clock costs nothing, so that differences are exact. A rank that looks
/// again without doing anything else waits for time to pass, and then it must.
std::int64_t simulation::now_ps() {
    rank_state& rank = ranks_[engine_.current().context->rank];
    if (rank.polled_just_now) {
        rank.self->now += model_.processor.poll;
        engine_.catch_up();
    }
    rank.polled_just_now = true;
    return model_.tick.to_ps(rank.self->now);
}

void simulation::charge(detail::rank_context& context, const work& amount) {
    const processor_costs& costs = model_.processor;
    rank_state& rank = ranks_[context.rank];
    rank.polled_just_now = false;
    rank.self->now += costs.flop.of(amount.flops) + costs.int_op.of(amount.int_ops) +
                      costs.load.of(amount.loads) + costs.store.of(amount.stores) +
                      costs.copied_byte.of(amount.copied_bytes) +
                      model_.tick.from_ps(amount.picoseconds);
}

bool simulation::wait(detail::rank_context& context, const wait_request& request) {
    rank_state& rank = enter(context);
    detail::shared_word& word = request.word;
    if (word.value >= request.at_least) return true;
    publish(rank.record.is_waiting, 1u);
    const std::int64_t start_ns = context.recorder != nullptr ? now_ns() : 0;
    rank.awaited = &word;
    rank.at_least = request.at_least;
    rank.has_timed_out = false;
    word.sleeper = word.sleeper == 0 ? context.rank + 1 : several;
    if (request.deadline_ns != no_deadline) {
        const ticks at = model_.tick.from_ps(request.deadline_ns * 1000);
        rank.deadline.rank = &rank;
        rank.deadline.act = [](engine& host, event& due) {
            rank_state& late = *static_cast<deadline_event&>(due).rank;
            late.has_timed_out = true;
            host.resume_at(*late.self, host.now());
        };
        engine_.schedule(rank.deadline, std::max(at, rank.self->now), *rank.self);
    }
    while (word.value < request.at_least && !rank.has_timed_out) {
        stand_still(rank, standstill::word);
    }
    engine_.cancel(rank.deadline);
    rank.awaited = nullptr;
    if (word.sleeper == context.rank + 1) word.sleeper = 0;
    publish(rank.record.is_waiting, 0u);
    if (context.recorder != nullptr) {
        context.recorder->record(
            {.name = name_of(request.reason).data(), .start_ns = start_ns, .end_ns = now_ns()});
    }
    return word.value >= request.at_least;
}

void simulation::wake(detail::rank_context&, detail::shared_word& word) { word_has_changed(word); }

void simulation::change_word(detail::shared_word& word, detail::signal_update update) {
    word.value = update.adds ? word.value + update.amount : update.amount;
    word_has_changed(word);
}

/// Lets those go on whose value has come.
void simulation::word_has_changed(detail::shared_word& word) {
    if (word.sleeper == 0) return;
    const auto look_at_rank = [&](rank_state& rank) {
        if (rank.awaited != &word || word.value < rank.at_least) return;
        if (!engine::is_armed(*rank.self)) engine_.resume_at(*rank.self, engine_.now());
    };
    if (word.sleeper != several) return look_at_rank(ranks_[word.sleeper - 1]);
    for (rank_state& rank : ranks_) look_at_rank(rank);
}

}  // namespace selion::machine::sim
