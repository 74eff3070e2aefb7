// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "machine/sim/simulation.hpp"

namespace selion::machine::sim {

/// Somebody has to work on a message that has arrived. What one rank's processor or hardware does
/// is done one after another, in the order of arrival: so what one rank sent to another takes
/// effect in the order in which it was sent.
void simulation::receive(transfer& what, ticks cost, event::action then) {
    rank_state& rank = ranks_[what.to];
    const reception_model& how = model_.reception;
    const ticks here = engine_.now() + what.regime->latency;
    what.act = then;
    what.cost = cost;
    if (how.kind == reception_kind::hardware) {
        rank.hardware_until = std::max(here, rank.hardware_until) + cost;
        if (rank.hardware_until == engine_.now()) return then(engine_, what);
        engine_.schedule(what, rank.hardware_until, engine_.rank(what.from));
        return;
    }
    if (rank.doing == activity::waits) {
        // It may have begun to wait on its own clock, ahead of this moment.
        const ticks start = std::max({here, rank.processor_until, rank.self->now});
        const bool is_new_entry = start > rank.processor_until;
        rank.processor_until = start + (is_new_entry ? how.dispatch : 0) + cost;
        engine_.schedule(what, rank.processor_until, engine_.rank(what.from));
        return;
    }
    if (how.kind == reception_kind::interrupt) {
        const ticks start = std::max(here, rank.processor_until);
        const bool is_new_entry = start > rank.processor_until;
        const ticks taken = (is_new_entry ? how.interrupt + how.dispatch : 0) + cost;
        rank.processor_until = start + taken;
        engine_.steal(*rank.self, taken);
        engine_.schedule(what, rank.processor_until, engine_.rank(what.from));
        return;
    }
    what.next = nullptr;
    (rank.inbox == nullptr ? rank.inbox : rank.inbox_end->next) = &what;
    rank.inbox_end = &what;
}

/// A rank that polls looks at what has come meanwhile, in each of its calls.
void simulation::serve_inbox(rank_state& rank) {
    if (rank.inbox == nullptr) return;
    ticks& now = rank.self->now;
    now = std::max(now, rank.processor_until) + model_.reception.dispatch;
    while (rank.inbox != nullptr) {
        transfer& next = static_cast<transfer&>(*rank.inbox);
        rank.inbox = next.next;
        now += next.cost;
        engine_.schedule(next, now, engine_.rank(next.from));
    }
    rank.processor_until = now;
}

/// Every call of a rank comes by here first.
rank_state& simulation::enter(detail::rank_context& context) {
    rank_state& rank = ranks_[context.rank];
    if (model_.reception.kind == reception_kind::polling) {
        engine_.catch_up();
        serve_inbox(rank);
    }
    return rank;
}

/// Stops the rank until an event resumes it; meanwhile it serves what comes.
void simulation::stand_still(rank_state& rank, standstill why) {
    rank.doing = activity::waits;
    rank.why = why;
    rank.polled_just_now = false;
    ticks& now = rank.self->now;
    if (follower_ != nullptr) follower_->rank_is_idle(engine_, rank.context.rank, now);
    engine_.suspend();
    rank.why = standstill::none;
    rank.doing = activity::computes;
    now = std::max(now, rank.processor_until);
    if (follower_ != nullptr) now = follower_->rank_computes(rank.context.rank, now);
}

}  // namespace selion::machine::sim
