// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include <algorithm>
#include <utility>

#include "machine/sim/simulation.hpp"

namespace selion::machine::sim {
namespace {

/// Times that a call serves what has come meanwhile. A rank that others never leave alone goes on
/// all the same.
constexpr int most_rounds = 1000;

/// Times that a rank may stand still at one time of its clock. Ranks that many others send
/// something at once do so now and then, and must not pay for it.
constexpr std::uint16_t most_rests = 1000;

/// Processor time of the thread: what other programs take does not count.
std::int64_t thread_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

/// It is there, unless this run wants it to be late.
void simulation::arrived(transfer& what) {
    if (perturbation_.is_on()) {
        const ticks now = engine_.now();
        const auto [at, is_behind] = perturbation_.arrival(
            {.from = what.from,
             .to = what.to,
             .now = now,
             .flight = now - what.sent,
             .has_wires = !is_local(ranks_[what.from], detail::global_address(what.to, 0))});
        if (at > now || is_behind) {
            what.act = [](engine&, event& due) {
                transfer& late = static_cast<transfer&>(due);
                late.host->receive_in_turn(late);
            };
            return engine_.schedule(what, at, engine_.rank(what.from));
        }
    }
    receive_in_turn(what);
}

void simulation::receive_in_turn(transfer& what) {
    if (what.is_answer || what.number == 0) return receive_now(what);
    arrival_order& order = ranks_[what.origin].order;
    if (order.holds(what)) return;
    for (transfer* next = &what; next != nullptr;) {
        const std::uint64_t number = next->number;
        receive_now(*next);  // after which it may be gone
        next = order.arrive(number);
    }
}

void simulation::receive_now(transfer& what) {
    const operation_regime& regime = *what.regime;
    if (!what.is_answer) {
        return receive(what, regime.target + regime.target_per_byte.of(what.data_bytes),
                       [](engine&, event& done) {
                           transfer& served = static_cast<transfer&>(done);
                           served.host->take_effect(served);
                       });
    }
    const bool has_data = what.brings_data();
    receive(what, regime.reply + (has_data ? regime.reply_per_byte.of(what.data_bytes) : 0),
            [](engine&, event& done) {
                transfer& served = static_cast<transfer&>(done);
                served.host->finish(served);
            });
}

/// Somebody has to work on a message that has arrived. One with latency is there that much later,
/// and holds up those of the same two ranks that come behind it, but no others.
void simulation::receive(transfer& what, ticks cost, event::action then) {
    const bool needs_processor = model_.reception.kind != reception_kind::hardware;
    what.cost = needs_processor ? stretched(ranks_[what.to], cost) : cost;
    what.then = then;
    if (!has_latency_) return be_worked_on(what);
    const ticks now = engine_.now();
    ticks& last = there_at_[std::uint64_t{what.from} << 32 | what.to];
    const ticks here = std::max(now + what.regime->latency, last);
    // One that was held up until this very moment may still be on its way: behind it, then.
    const bool is_first = here == now && last < now;
    last = here;
    if (is_first) return be_worked_on(what);
    what.act = [](engine&, event& due) {
        transfer& late = static_cast<transfer&>(due);
        late.host->be_worked_on(late);
    };
    engine_.schedule(what, here, engine_.rank(what.from));
}

/// What one rank's processor or hardware does is done one after another, in the order of arrival:
/// so what one rank sent to another takes effect in the order in which it was sent.
void simulation::be_worked_on(transfer& what) {
    if (model_.reception.kind != reception_kind::hardware) return notice(what);
    ticks& until = ranks_[what.to].hardware_until;
    const ticks now = engine_.now();
    const bool is_first = until < now;
    until = later(std::max(now, until), what.cost);
    if (is_first && until == now) return what.then(engine_, what);
    what.act = what.then;
    engine_.schedule(what, until, engine_.rank(what.from));
}

/// The rank that serves it causes what happens then: so it finds that done when its call goes on at
/// the same time, whoever has sent the message.
void simulation::serve_at(transfer& what, ticks at) {
    what.act = what.then;
    engine_.schedule(what, at, engine_.rank(what.to));
}

/// A message is there, and needs the rank's processor. See docs/design/simulation.md.
void simulation::notice(transfer& what) {
    rank_state& rank = ranks_[what.to];
    const ticks now = engine_.now();
    if (rank.doing == activity::waits) {
        // The call itself may be busy on the rank's own clock, ahead of this moment.
        const ticks start = std::max({now, rank.processor_until, rank.self->now});
        const bool is_new_entry = start > rank.processor_until;
        if (is_new_entry) rank.is_interrupts = false;
        const ticks entry = is_new_entry ? stretched(rank, model_.reception.dispatch) : 0;
        rank.processor_until = later(start + entry, what.cost);
        return serve_at(what, rank.processor_until);
    }
    if (!rank.dispatches && rank.is_interrupts && now <= rank.processor_until) {
        rank.processor_until = later(rank.processor_until, what.cost);
        if (!model_.reception.has_own_processor) engine_.steal(*rank.self, what.cost);
        return serve_at(what, rank.processor_until);
    }
    what.next = nullptr;
    (rank.inbox == nullptr ? rank.inbox : rank.inbox_end->next) = &what;
    rank.inbox_end = &what;
    if (rank.is_in_call) disturb(rank);
    if (!rank.dispatches) set_alarm(rank);
}

/// An interrupt finds the lock taken by a call. It gives up; what comes later in the call meets a
/// thread that has just done so.
void simulation::disturb(rank_state& rank) {
    if (model_.reception.kind != reception_kind::interrupt || rank.is_disturbed) return;
    rank.is_disturbed = true;
    rank.disturbance = stretched(rank, model_.reception.contention);
}

/// Something has come for a rank that computes.
void simulation::set_alarm(rank_state& rank) {
    const reception_model& how = model_.reception;
    if (engine::is_armed(rank.alarm)) return;
    ticks at = engine_.now();
    if (how.kind == reception_kind::interrupt) {
        if (how.coalescing == 0) return interrupt(rank);
        at += how.coalescing;
    } else {
        if (how.retransmission == 0) return;
        at = (at / how.retransmission + 1) * how.retransmission;
    }
    rank.alarm.rank = &rank;
    rank.alarm.act = [](engine&, event& due) {
        rank_state& late = *static_cast<rank_event&>(due).rank;
        static_cast<simulation&>(*late.context.transport).interrupt(late);
    };
    engine_.schedule(rank.alarm, at, *rank.self);
}

/// The dispatcher serves what has come, without a call.
void simulation::interrupt(rank_state& rank) {
    const reception_model& how = model_.reception;
    if (rank.inbox == nullptr || rank.is_in_call || rank.dispatches) return;
    const ticks start = std::max(engine_.now(), rank.processor_until);
    ticks until = start + stretched(rank, how.interrupt + how.dispatch);
    while (rank.inbox != nullptr) {
        transfer& next = static_cast<transfer&>(*rank.inbox);
        rank.inbox = next.next;
        until = later(until, next.cost);
        serve_at(next, until);
    }
    rank.processor_until = until;
    rank.is_interrupts = true;
    if (!how.has_own_processor) engine_.steal(*rank.self, until - start);
}

/// A call enters the dispatcher, and leaves it when nothing is left, whatever has come meanwhile,
/// or after many rounds.
void simulation::serve_inbox(rank_state& rank) {
    ticks& now = rank.self->now;
    rank.dispatches = true;
    engine_.cancel(rank.alarm);
    now += stretched(rank, model_.reception.dispatch);
    int rounds = 0;
    do {
        now += std::exchange(rank.disturbance, 0);
        while (rank.inbox != nullptr) {
            transfer& next = static_cast<transfer&>(*rank.inbox);
            rank.inbox = next.next;
            now = later(now, next.cost);
            serve_at(next, now);
        }
        engine_.catch_up();
        now = std::max(now, rank.handling_until);
    } while (rank.inbox != nullptr && ++rounds < most_rounds);
    rank.dispatches = false;
    rank.is_interrupts = false;
    rank.processor_until = now;
    if (rank.inbox != nullptr) set_alarm(rank);
}

/// Makes a call wait for the lock, and lets it look after messages.
void simulation::begin_call(rank_state& rank) {
    const reception_model& how = model_.reception;
    if (how.kind == reception_kind::hardware) return;
    ticks& now = rank.self->now;
    engine_.catch_up();
    while (how.has_big_lock && now < rank.processor_until) {
        now = rank.processor_until;
        engine_.catch_up();
    }
    rank.is_in_call = how.has_big_lock;
    rank.is_disturbed = false;
    const bool is_free = now >= rank.processor_until;
    if (rank.inbox != nullptr || (how.enters_always && is_free)) serve_inbox(rank);
}

/// What has come during a call that held the lock is left to it by interrupts.
void simulation::end_call(rank_state& rank) {
    if (!rank.is_in_call) return;
    engine_.catch_up();
    if (rank.inbox != nullptr) serve_inbox(rank);
    rank.is_in_call = false;
    // It may have left some: others never left it alone.
    if (rank.inbox != nullptr) set_alarm(rank);
}

/// Every call of a rank comes by here first.
simulation::call::call(simulation& host, detail::rank_context& context, bool serves)
    : rank(host.ranks_[context.rank]), host_(host), serves_(serves) {
    host.spend_host_time(rank);
    if (host.handler_ != nullptr) {
        serves_ = false;
        return;
    }
    if (serves) host.begin_call(rank);
}

simulation::call::~call() {
    if (serves_) host_.end_call(rank);
    host_.note_host_time(rank);
}

/// The program's own code goes on, on the stack that runs now, where its time is counted.
void simulation::note_host_time(rank_state& rank) {
    if (setting_.host_time_scale == 0) return;
    (handler_ != nullptr ? handler_->left_ns : rank.left_ns) = thread_time_ns();
}

/// What that code has taken since then.
void simulation::spend_host_time(rank_state& rank) {
    if (setting_.host_time_scale == 0) return;
    const std::int64_t left_ns = handler_ != nullptr ? handler_->left_ns : rank.left_ns;
    const auto passed_ns = static_cast<double>(thread_time_ns() - left_ns);
    const double passed_ps = passed_ns * setting_.host_time_scale * 1000;
    constexpr double most_ps = 1e18;
    if (passed_ps >= most_ps) end_beyond_time(rank, "");
    ticks& now = time_of(rank);
    now += stretched(rank, model_.tick.from_ps(static_cast<std::int64_t>(passed_ps)));
    check_time(rank, now);
}

/// Stops the rank until an event resumes it; meanwhile it serves what comes. May return before
/// that, when it has served what had come before: the caller looks again whether it has to wait.
void simulation::stand_still(rank_state& rank, standstill why) {
    ticks& now = rank.self->now;
    const ticks begun = now;
    if (rank.inbox != nullptr) {
        serve_inbox(rank);
        static_cast<void>(pays_for_rest(rank, begun));
        return;
    }
    rank.doing = activity::waits;
    rank.why = why;
    if (follower_ != nullptr) follower_->rank_is_idle(engine_, rank.context.rank, now);
    publish(rank.record.is_waiting, 1u);
    engine_.suspend();
    publish(rank.record.is_waiting, 0u);
    rank.why = standstill::none;
    go_on(rank);
    // A word may be there at the very time at which the rank stops; an answer of no time is a look.
    const bool is_work = now > begun || why != standstill::answer;
    if (!pays_for_rest(rank, begun) && is_work) rank.polled_just_now = false;
}

/// One that stands still again and again, and no time passes, asks for something until it gets it,
/// as by calls whose answers it awaits. Then time must pass, as for one that looks again and again.
/// @param begun when it stood still. @return whether it does.
bool simulation::pays_for_rest(rank_state& rank, ticks begun) {
    const bool is_another = rank.self->now > begun || rank.rested_at != begun;
    rank.rested_at = rank.self->now;
    if (is_another) rank.rests = 0;
    if (rank.rests < most_rests) {
        ++rank.rests;
        return false;
    }
    spend_poll(rank);
    engine_.catch_up();
    rank.rested_at = rank.self->now;
    return true;
}

/// Once the processor is free of messages.
void simulation::go_on(rank_state& rank) {
    ticks& now = rank.self->now;
    const reception_model& how = model_.reception;
    const bool may_leave = rank.is_interrupts && how.has_own_processor && !how.has_big_lock;
    for (int i = 0; i < most_rounds && now < rank.processor_until && !may_leave; ++i) {
        now = rank.processor_until;
        engine_.catch_up();
    }
    rank.doing = activity::computes;
    if (follower_ != nullptr) now = follower_->rank_computes(rank.context.rank, now);
}

/// A rank whose function has returned serves what comes.
void simulation::come_to_rest(rank_state& rank) {
    publish(rank.record.has_finished, 1u);
    if (rank.leaving != 0) engine_.catch_up();
    if (model_.reception.kind != reception_kind::hardware) {
        engine_.catch_up();
        while (rank.inbox != nullptr) serve_inbox(rank);
    }
    rank.doing = activity::waits;
    if (follower_ != nullptr) {
        follower_->rank_is_idle(engine_, rank.context.rank, rank.self->now);
    }
}

}  // namespace selion::machine::sim
