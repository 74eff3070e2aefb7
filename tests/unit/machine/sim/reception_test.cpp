// SPDX-License-Identifier: Apache-2.0
/// When messages that need their target's processor are served, and who pays for it.
#include <gtest/gtest.h>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

constexpr ticks flight = 100;
constexpr ticks origin = 3;
constexpr ticks target = 5;
constexpr ticks reply = 2;
constexpr ticks dispatch = 10;
constexpr ticks interrupt = 40;
/// When what a rank sends first thing is there.
constexpr ticks there = origin + flight;
/// What an interrupt for one message takes.
constexpr ticks interruption = interrupt + dispatch + target;

machine_model model_with(reception_kind kind, std::uint32_t ranks = 3) {
    machine_model model = free_model(ranks, network_kind::crossbar);
    model.crossbar.latency = flight;
    model.reception.kind = kind;
    model.reception.dispatch = dispatch;
    model.reception.interrupt = interrupt;
    set_costs(model, {.origin = origin, .target = target, .reply = reply});
    return model;
}

machine_model polling(std::uint32_t ranks = 3) {
    return model_with(reception_kind::polling, ranks);
}
machine_model interrupts(std::uint32_t ranks = 3) {
    return model_with(reception_kind::interrupt, ranks);
}

/// Rank 0 signals rank 1 first thing.
void signal_at_once(model_rank& self) { self.raise(1, 0); }

/// Signals rank 1 so that it is there at `at`.
std::function<void(model_rank&)> signal_there_at(ticks at) {
    return [at](model_rank& self) {
        self.compute(at - there);
        self.raise(1, 0);
    };
}

/// Rank 1 computes, then waits for so many signals.
std::function<void(model_rank&)> compute_then_await(ticks time, std::uint64_t signals) {
    return [=](model_rank& self) {
        self.compute(time);
        self.await(0, signals);
    };
}

TEST(reception, a_look_at_the_clock_after_an_operation_is_the_first_one_again) {
    machine_model model = model_with(reception_kind::hardware);
    model.processor.poll = 70;
    model_run run(model);
    run.run_each({[](model_rank& self) {
        auto& time = *self.context().clock;
        const std::int64_t start = time.now_ps();
        self.raise(1, 0);
        const std::int64_t sent = time.now_ps();
        EXPECT_EQ(sent - start, origin);
        EXPECT_EQ(time.now_ps() - sent, 70);
    }});
}

TEST(reception, hardware_disturbs_nobody) {
    model_run run(model_with(reception_kind::hardware));
    run.run_each({signal_at_once, compute_then_await(50, 1)});
    EXPECT_EQ(run.ended(1), there + target);
    model_run later(model_with(reception_kind::hardware));
    later.run_each({signal_at_once, compute_then_await(1000, 1)});
    EXPECT_EQ(later.ended(1), 1000);
}

// --- polling -------------------------------------------------------------------------------------

TEST(polling, serves_in_the_next_call) {
    model_run run(polling());
    run.run_each({signal_at_once, compute_then_await(1000, 1)});
    EXPECT_EQ(run.ended(1), 1000 + dispatch + target);
}

TEST(polling, serves_at_once_while_it_waits) {
    model_run run(polling());
    run.run_each({signal_at_once, compute_then_await(50, 1)});
    EXPECT_EQ(run.ended(1), there + dispatch + target);
}

TEST(polling, an_entry_of_the_dispatcher_is_shared_by_all_that_it_finds) {
    model_run run(polling());
    run.run_each({signal_at_once, compute_then_await(1000, 2), signal_there_at(900)});
    EXPECT_EQ(run.ended(1), 1000 + dispatch + 2 * target);
}

TEST(polling, a_slow_rank_serves_slowly) {
    const auto answered_after = [](const machine_model& model, std::uint32_t slow_rank) {
        run_setting setting = model_run::small();
        setting.slow[slow_rank] = 4;
        model_run run(model, setting);
        run.run_each({[](model_rank& self) { self.get(1, 0, 8); }});
        return run.ended(0);
    };
    const ticks usual = answered_after(polling(), 2);
    EXPECT_EQ(answered_after(polling(), 1), usual + 3 * (dispatch + target));
    EXPECT_EQ(answered_after(polling(), 0), usual + 3 * (origin + dispatch + reply));
    // Hardware is nobody's processor.
    const machine_model free = model_with(reception_kind::hardware);
    EXPECT_EQ(answered_after(free, 1), answered_after(free, 2));
}

TEST(interrupts, of_a_slow_rank_take_it_longer) {
    run_setting setting = model_run::small();
    setting.slow[1] = 4;
    model_run run(interrupts(), setting);
    run.run_each({signal_at_once, compute_then_await(1000, 1)});
    EXPECT_EQ(run.ended(1), 4 * (1000 + interruption));
}

TEST(polling, the_dispatcher_finds_what_comes_while_it_works) {
    for (const ticks at : {1000 + dispatch, 1000 + dispatch + target}) {
        model_run run(polling());
        run.run_each({signal_at_once, compute_then_await(1000, 2), signal_there_at(at)});
        EXPECT_EQ(run.ended(1), 1000 + dispatch + 2 * target) << at;
    }
    constexpr ticks later = 1000 + dispatch + target + 1;
    model_run run(polling());
    run.run_each({signal_at_once, compute_then_await(1000, 2), signal_there_at(later)});
    EXPECT_EQ(run.ended(1), later + dispatch + target);
}

TEST(polling, a_look_at_the_clock_is_no_call) {
    model_run run(polling());
    run.run_each({signal_at_once, [](model_rank& self) {
                      self.compute(500);
                      EXPECT_EQ(self.context().clock->now_ps(), 500);
                      self.compute(500);
                      self.await(0, 1);
                  }});
    EXPECT_EQ(run.ended(1), 1000 + dispatch + target);
}

TEST(polling, ranks_that_ask_each_other_serve_each_other) {
    machine_model model = polling(2);
    model.get.regimes[0].origin = 200;  // longer than the flight: requests find both in their calls
    model_run run(model);
    run.run_each({[](model_rank& self) { self.get(1, 64, 8); },
                  [](model_rank& self) {
                      self.compute(150);
                      self.get(0, 64, 8);
                  }});
    // Rank 0 asks at 200, rank 1 at 350; it serves the request that came at 300 before it waits.
    const ticks answered = 350 + dispatch + target;
    const ticks serves = 350 + flight + dispatch + target;
    ASSERT_EQ(answered + flight, serves);  // so one entry serves both
    EXPECT_EQ(run.ended(0), serves + reply);
    EXPECT_EQ(run.ended(1), serves + flight + dispatch + reply);
}

TEST(polling, a_call_returns_when_what_it_has_served_is_done_whoever_sent_it) {
    for (const std::uint32_t receiver : {0u, 1u}) {
        model_run run(polling(2));
        run.run([&](model_rank& self) {
            if (self.number() != receiver) return self.raise(receiver, 0);
            self.compute(1000);
            EXPECT_EQ(self.look(0), 1) << receiver;
            EXPECT_EQ(self.now(), 1000 + dispatch + target) << receiver;
        });
    }
}

TEST(polling, a_rank_that_has_ended_serves) {
    model_run run(polling());
    run.run_each({[](model_rank& self) { self.get(1, 64, 8); },
                  [](model_rank& self) { self.compute(1000); }});
    EXPECT_EQ(run.ended(1), 1000);
    EXPECT_EQ(run.ended(0), 1000 + dispatch + target + flight + dispatch + reply);
}

TEST(polling, every_call_enters_the_dispatcher_where_it_must) {
    machine_model model = polling();
    model.reception.enters_always = true;
    model_run run(model);
    run.run_each({[](model_rank& self) {
        self.quiet();
        self.quiet();
        self.raise(1, 0);
    }});
    EXPECT_EQ(run.ended(0), 3 * dispatch + origin);
}

// --- latency beyond the network's ----------------------------------------------------------------

TEST(latency, a_message_is_not_there_before_it) {
    machine_model model = polling();
    set_costs(model, {.latency = 200});
    model_run run(model);
    run.run_each({signal_at_once, [](model_rank& self) {
                      self.compute(150);
                      self.quiet();
                      EXPECT_EQ(self.now(), 150);
                      self.await(0, 1);
                  }});
    EXPECT_EQ(run.ended(1), flight + 200 + dispatch);
}

TEST(latency, does_not_change_the_order) {
    machine_model model = polling();
    operation_regime late;
    late.up_to_bytes = 8;
    late.latency = 200;
    model.put.regimes.insert(model.put.regimes.begin(), late);
    model_run run(model);
    std::uint64_t seen = 0;
    run.run_each({[](model_rank& self) {
                      self.put_word(1, 256, 7);
                      self.put_signal(1, 0, 100);
                  },
                  [&](model_rank& self) {
                      self.await(0, 1);
                      seen = self.own(256);
                  }});
    EXPECT_EQ(seen, 7u);
    EXPECT_EQ(run.ended(1), flight + 200 + dispatch + target);
}

TEST(latency, holds_up_nothing_of_other_ranks) {
    for (const reception_kind kind : {reception_kind::hardware, reception_kind::polling}) {
        machine_model model = model_with(kind);
        model.put.regimes[0].latency = 5000;
        const ticks entry = kind == reception_kind::polling ? dispatch : 0;
        model_run run(model);
        run.run_each({[](model_rank& self) { self.put_word(1, 256, 7); },
                      [](model_rank& self) { self.await(0, 1); },
                      [](model_rank& self) {
                          self.compute(50);
                          self.raise(1, 0);
                      }});
        EXPECT_EQ(run.ended(1), 50 + there + entry + target);
    }
}

TEST(latency, does_not_change_the_order_of_what_it_makes_equal) {
    machine_model model = model_with(reception_kind::hardware);
    set_costs(model, {.origin = origin});
    operation_regime late = model.put.regimes[0];
    late.latency = origin;  // the signal behind it catches up with it
    model.put.regimes = {late};
    model_run run(model);
    std::uint64_t seen = 0;
    // Of events at one time those of rank 0 come first: it goes on as soon as it may.
    run.run_each({[&](model_rank& self) {
                      self.await(0, 1);
                      seen = self.own(256);
                  },
                  [](model_rank& self) {
                      self.put_word(0, 256, 7);
                      self.raise(0, 0);
                  }});
    EXPECT_EQ(seen, 7u);
    EXPECT_EQ(run.ended(0), flight + 2 * origin);
}

// --- interrupts ----------------------------------------------------------------------------------

TEST(interrupts, take_their_time_from_what_the_rank_computes) {
    model_run run(interrupts());
    run.run_each({signal_at_once, compute_then_await(1000, 1)});
    EXPECT_EQ(run.ended(1), 1000 + interruption);
}

TEST(interrupts, are_seen_by_a_look_at_the_clock) {
    model_run run(interrupts());
    run.run_each({signal_at_once, [](model_rank& self) {
                      self.compute(1000);
                      EXPECT_EQ(self.context().clock->now_ps(), 1000 + interruption);
                  }});
}

TEST(interrupts, serve_at_once) {
    machine_model model = interrupts();
    model.acknowledges_puts = true;
    model_run run(model);
    run.run_each({[](model_rank& self) {
                      self.put_word(1, 64, 7);
                      self.quiet();
                  },
                  [](model_rank& self) { self.compute(1000); }});
    EXPECT_EQ(run.ended(0), there + interruption + flight + dispatch + reply);
}

TEST(interrupts, are_not_needed_while_it_waits) {
    model_run run(interrupts());
    run.run_each({signal_at_once, compute_then_await(50, 1)});
    EXPECT_EQ(run.ended(1), there + dispatch + target);
}

TEST(interrupts, serve_all_that_comes_while_they_last) {
    for (const ticks at : {there, there + interruption}) {
        model_run run(interrupts());
        run.run_each({signal_at_once, compute_then_await(1000, 2), signal_there_at(at)});
        EXPECT_EQ(run.ended(1), 1000 + interruption + target) << at;
    }
    model_run run(interrupts());
    run.run_each(
        {signal_at_once, compute_then_await(1000, 2), signal_there_at(there + interruption + 1)});
    EXPECT_EQ(run.ended(1), 1000 + 2 * interruption);
}

TEST(interrupts, may_have_a_processor_of_their_own) {
    machine_model model = interrupts();
    model.reception.has_own_processor = true;
    model_run run(model);
    run.run_each({signal_at_once, compute_then_await(1000, 1)});
    EXPECT_EQ(run.ended(1), 1000);
    model_run early(model);
    early.run_each({signal_at_once, compute_then_await(there + 1, 1)});
    EXPECT_EQ(early.ended(1), there + interruption);
}

TEST(interrupts, wait_for_more_if_they_are_coalesced) {
    machine_model model = interrupts();
    model.reception.coalescing = 200;
    const auto run_with_second_at = [&](ticks at) {
        model_run run(model);
        run.run_each({signal_at_once, compute_then_await(1000, 2), signal_there_at(at)});
        return run.ended(1);
    };
    EXPECT_EQ(run_with_second_at(there + 199), 1000 + interruption + target);
    EXPECT_EQ(run_with_second_at(there + 200 + 1), 1000 + interruption + target);  // it works
    EXPECT_EQ(run_with_second_at(there + 200 + interruption + 1), 1000 + 2 * interruption);
}

TEST(interrupts, fire_exactly_when_coalescing_is_over) {
    machine_model model = interrupts();
    model.acknowledges_puts = true;
    model.reception.coalescing = 200;
    model_run run(model);
    run.run_each({[](model_rank& self) {
                      self.put_word(1, 64, 7);
                      self.quiet();
                  },
                  [](model_rank& self) { self.compute(1000); }});
    EXPECT_EQ(run.ended(0), there + 200 + interruption + flight + dispatch + reply);
}

TEST(interrupts, are_taken_back_when_a_call_serves_before_they_fire) {
    machine_model model = interrupts();
    model.reception.coalescing = 200;
    model_run run(model);
    run.run_each({signal_at_once, [](model_rank& self) {
                      self.compute(there + 100);
                      self.quiet();
                      EXPECT_EQ(self.now(), there + 100 + dispatch + target);
                      self.compute(1000);
                      self.await(0, 1);
                  }});
    EXPECT_EQ(run.ended(1), there + 100 + dispatch + target + 1000);
}

TEST(interrupts, that_were_taken_back_do_not_fire_for_what_comes_later) {
    machine_model model = interrupts();
    model.acknowledges_puts = true;
    model.reception.coalescing = 200;
    model_run run(model);
    constexpr ticks second = there + 150;
    run.run_each({signal_at_once,
                  [](model_rank& self) {
                      self.compute(there + 100);
                      self.quiet();
                      self.compute(1000);
                  },
                  [](model_rank& self) {
                      self.compute(second - there);
                      self.raise(1, 0);
                      self.quiet();
                  }});
    EXPECT_EQ(run.ended(2), second + 200 + interruption + flight + dispatch + reply);
}

TEST(interrupts, of_their_own_processor_spare_calls_the_dispatcher) {
    machine_model model = interrupts();
    model.reception.has_own_processor = true;
    model.reception.enters_always = true;
    const auto call_after = [&](ticks computed) {
        model_run run(model);
        run.run_each({signal_at_once, [=](model_rank& self) {
                          self.compute(computed);
                          self.quiet();
                      }});
        return run.ended(1);
    };
    const ticks begin = dispatch + there;
    EXPECT_EQ(call_after(begin + 1), begin + 1);  // it is at work for the interrupt
    EXPECT_EQ(call_after(begin + interruption), begin + interruption + dispatch);
}

// --- retransmission ------------------------------------------------------------------------------

TEST(retransmission, serves_who_makes_no_calls_at_its_next_round) {
    machine_model model = polling();
    model.acknowledges_puts = true;
    model.reception.retransmission = 400;
    for (const ticks at : {there, ticks{399}, ticks{400}, ticks{1200}}) {
        model_run run(model);
        run.run_each({[at](model_rank& self) {
                          self.compute(at - there);
                          self.put_word(1, 64, 7);
                          self.quiet();
                      },
                      [](model_rank& self) {
                          self.compute(5000);
                          self.quiet();
                      }});
        const ticks round = (at / 400 + 1) * 400;
        EXPECT_EQ(run.ended(0), round + interruption + flight + dispatch + reply) << at;
        EXPECT_EQ(run.ended(1), 5000 + interruption) << at;
    }
}

TEST(retransmission, has_nothing_to_do_after_a_call) {
    machine_model model = polling();
    model.reception.retransmission = 400;
    model_run run(model);
    run.run_each({signal_at_once, [](model_rank& self) {
                      self.compute(300);
                      self.quiet();
                      self.compute(1000);
                      self.quiet();
                  }});
    EXPECT_EQ(run.ended(1), 300 + dispatch + target + 1000);
}

TEST(reception, a_handler_that_looks_at_the_clock_again_sees_time_pass) {
    machine_model model = model_with(reception_kind::hardware);
    model.processor.poll = 70;
    static std::vector<std::int64_t> seen;
    seen.clear();
    model_run run(model);
    run.run_each({[](model_rank& self) {
                     self.send(1);
                     self.compute(100 * flight);
                     self.fall_in();
                 }},
                 [](detail::rank_context& here, incoming_message&) {
                     seen.push_back(here.clock->now_ps());
                     seen.push_back(here.clock->now_ps());
                     here.clock->charge(here, {.picoseconds = 5});
                     seen.push_back(here.clock->now_ps());
                 });
    EXPECT_EQ(seen, (std::vector<std::int64_t>{flight, flight + 70, flight + 75}));
}

}  // namespace
}  // namespace selion::machine::sim
