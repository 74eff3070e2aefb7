// SPDX-License-Identifier: Apache-2.0
/// Calls and interrupts that keep each other out, and credits that keep messages back.
#include <gtest/gtest.h>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

constexpr ticks flight = 100;
constexpr ticks origin = 3;
constexpr ticks long_origin = 1000;  ///< of puts of 100 bytes and more
constexpr ticks target = 5;
constexpr ticks dispatch = 10;
constexpr ticks interrupt = 40;
constexpr ticks there = origin + flight;
constexpr ticks interruption = interrupt + dispatch + target;

machine_model locked(bool has_own_processor) {
    machine_model model = free_model(4, network_kind::crossbar);
    model.crossbar.latency = flight;
    model.reception.kind = reception_kind::interrupt;
    model.reception.dispatch = dispatch;
    model.reception.interrupt = interrupt;
    model.reception.has_big_lock = true;
    model.reception.has_own_processor = has_own_processor;
    set_costs(model, {.origin = origin, .target = target});
    model.put.regimes[0].up_to_bytes = 99;
    operation_regime large;
    large.origin = long_origin;
    large.target = target;
    model.put.regimes.push_back(large);
    return model;
}

void signal_at_once(model_rank& self) { self.raise(1, 0); }

std::function<void(model_rank&)> signal_there_at(ticks at) {
    return [at](model_rank& self) {
        self.compute(at - there);
        self.raise(1, 0);
    };
}

TEST(big_lock, a_call_waits_until_the_interrupt_leaves_the_dispatcher) {
    const auto call_after = [](const machine_model& model, ticks computed) {
        model_run run(model);
        run.run_each({signal_at_once, [&](model_rank& self) {
                          self.compute(computed);
                          self.raise(2, 0);
                      }});
        return run.ended(1);
    };
    const machine_model model = locked(true);
    EXPECT_EQ(call_after(model, there + 1), there + interruption + origin);
    EXPECT_EQ(call_after(model, there + interruption), there + interruption + origin);
    EXPECT_EQ(call_after(model, there + interruption + 1), there + interruption + 1 + origin);

    machine_model free = model;
    free.reception.has_big_lock = false;
    EXPECT_EQ(call_after(free, there + 1), there + 1 + origin);
    // One processor: what it computed is late by the interrupt, and the lock is free by then.
    EXPECT_EQ(call_after(locked(false), there + 1), there + 1 + interruption + origin);
}

TEST(big_lock, what_comes_while_a_call_waits_for_it_makes_it_wait_longer) {
    model_run run(locked(true));
    run.run_each({signal_at_once,
                  [](model_rank& self) {
                      self.compute(there + 1);
                      self.raise(2, 0);
                  },
                  [](model_rank&) {}, signal_there_at(there + 20)});
    EXPECT_EQ(run.ended(1), there + interruption + target + origin);
}

TEST(big_lock, an_interrupt_gives_up_and_the_call_serves) {
    const auto call_for_long = [](const machine_model& model) {
        model_run run(model);
        run.run_each({signal_at_once, [](model_rank& self) {
                          self.put(2, 64, 100);
                          EXPECT_EQ(self.own(0), 1u);
                      }});
        return run.ended(1);
    };
    for (const bool has_own_processor : {false, true}) {
        machine_model model = locked(has_own_processor);
        EXPECT_EQ(call_for_long(model), long_origin + dispatch + target);
        model.reception.coalescing = 200;  // it fires within the call as well
        EXPECT_EQ(call_for_long(model), long_origin + dispatch + target);
    }
    machine_model free = locked(false);
    free.reception.has_big_lock = false;
    EXPECT_EQ(call_for_long(free), long_origin + interruption);
    free.reception.has_own_processor = true;
    EXPECT_EQ(call_for_long(free), long_origin);
}

TEST(big_lock, what_an_interrupt_in_vain_costs_is_paid_once_in_a_call) {
    constexpr ticks contention = 30;
    machine_model model = locked(true);
    model.reception.contention = contention;
    const auto signalled_twice = [&](auto second) {
        model_run run(model);
        run.run_each({signal_at_once, second, [](model_rank&) {}, signal_there_at(there + 20)});
        return run.ended(1);
    };
    const auto long_call = [](model_rank& self) { self.put(2, 64, 100); };
    EXPECT_EQ(signalled_twice(long_call), long_origin + dispatch + contention + 2 * target);
    // A call that waits serves by itself: nobody is interrupted.
    EXPECT_EQ(signalled_twice([](model_rank& self) { self.await(0, 2); }),
              there + 20 + dispatch + target);
    model.reception.kind = reception_kind::polling;
    EXPECT_EQ(signalled_twice(long_call), long_origin + dispatch + 2 * target);
}

TEST(big_lock, a_call_that_waits_serves_what_came_during_its_own_part) {
    machine_model model = locked(false);
    model.acknowledges_puts = true;
    model_run run(model);
    run.run_each({signal_at_once, [](model_rank& self) {
                      self.put(2, 64, 100);
                      EXPECT_EQ(self.now(), long_origin + dispatch + target);
                      self.quiet();
                  }});
    // The put left before the call served: its acknowledgement comes to a rank that waits.
    const ticks taken = long_origin + flight + dispatch + target;
    EXPECT_EQ(run.ended(1), taken + flight + dispatch);
}

TEST(big_lock, without_it_a_wait_does_not_outlast_what_it_waits_for) {
    const auto wait_beside_interrupt = [](bool has_big_lock) {
        machine_model model = locked(true);
        model.reception.has_big_lock = has_big_lock;
        model_run run(model);
        run.run_each({signal_at_once,
                      [](model_rank& self) {
                          self.compute(there + 1);
                          self.await(0, 1);
                      },
                      [](model_rank&) {}, signal_there_at(there + 20)});
        return run.ended(1);
    };
    EXPECT_EQ(wait_beside_interrupt(false), there + interruption);
    EXPECT_EQ(wait_beside_interrupt(true), there + interruption + target);
}

// --- credits -------------------------------------------------------------------------------------

machine_model with_credits(std::uint32_t credits, bool queues) {
    machine_model model = free_model(3, network_kind::crossbar);
    model.crossbar.latency = flight;
    model.reception.credits = credits;
    model.reception.queues_without_credit = queues;
    set_costs(model, {.origin = origin, .target = 50});
    return model;
}

/// When each of so many signals of rank 0, which makes nothing else, takes effect at rank 1.
std::vector<ticks> effects(model_run& run, std::uint64_t count) {
    std::vector<ticks> seen;
    run.run_each({[=](model_rank& self) {
                      for (std::uint64_t i = 0; i < count; ++i) self.raise(1, 0);
                  },
                  [&](model_rank& self) {
                      for (std::uint64_t i = 1; i <= count; ++i) {
                          self.await(0, i);
                          seen.push_back(self.now());
                      }
                  }});
    return seen;
}

TEST(credits, so_many_are_under_way_and_the_call_waits_for_the_next) {
    model_run run(with_credits(2, false));
    const ticks first = origin + flight + 50;
    const ticks second = first + 50;  // the hardware takes one after another
    EXPECT_EQ(effects(run, 4),
              (std::vector<ticks>{first, second, first + flight + 50, second + flight + 50}));
    EXPECT_EQ(run.ended(0), second);  // when the last one left
}

TEST(credits, or_the_message_waits_and_the_call_does_not) {
    model_run run(with_credits(2, true));
    const ticks first = origin + flight + 50;
    const ticks second = first + 50;
    EXPECT_EQ(effects(run, 4),
              (std::vector<ticks>{first, second, first + flight + 50, second + flight + 50}));
    EXPECT_EQ(run.ended(0), 4 * origin);
}

TEST(credits, are_of_each_pair) {
    model_run run(with_credits(1, false));
    run.run_each({[](model_rank& self) {
        self.raise(1, 0);
        self.raise(2, 0);
        EXPECT_EQ(self.now(), 2 * origin);
        self.raise(2, 0);
    }});
    EXPECT_EQ(run.ended(0), 2 * origin + flight + 50);
}

TEST(credits, come_back_with_the_acknowledgement_where_there_is_one) {
    machine_model model = with_credits(1, false);
    model.acknowledges_puts = true;
    model_run run(model);
    run.run_each({[](model_rank& self) {
        self.raise(1, 0);
        self.raise(1, 0);
    }});
    EXPECT_EQ(run.ended(0), origin + flight + 50 + flight);
}

TEST(credits, many_that_are_none_change_nothing) {
    model_run limited(with_credits(4, false));
    model_run unlimited(with_credits(0, false));
    EXPECT_EQ(effects(limited, 4), effects(unlimited, 4));
}

TEST(credits, ranks_that_have_none_serve_each_other) {
    machine_model model = with_credits(1, false);
    model.reception.kind = reception_kind::polling;
    model.acknowledges_puts = true;
    model_run run(model);
    run.run([](model_rank& self) {
        const std::uint32_t next = (self.number() + 1) % self.ranks();
        for (int i = 0; i < 5; ++i) self.raise(next, 0);
        self.await(0, 5);
    });
    EXPECT_GT(run.ended(), 4 * 2 * flight);
}

/// A rank that others never leave alone ends its call, and what has come by then is served by an
/// interrupt, not in its next call.
TEST(big_lock, what_a_call_leaves_in_the_dispatcher_is_served_when_it_is_over) {
    constexpr std::uint64_t signals = 1001;
    machine_model model = locked(false);
    model.reception.dispatch = 0;
    set_costs(model, {.target = 10});
    model.put.regimes[0].origin = 5;
    model_run run(model);
    std::uint64_t served = 0;
    run.run_each({[&](model_rank& self) {
                      for (std::uint64_t i = 0; i < signals; ++i) {
                          self.raise(1, 0);
                          self.compute(10);
                      }
                  },
                  [&](model_rank& self) {
                      self.compute(flight - 2);
                      self.put(2, 64, 8);
                      self.compute(100 * signals);
                      self.fall_in();
                      served = self.own(0);
                  }});
    EXPECT_EQ(served, signals);
}

/// What the handler of a rank sends comes behind what the rank has sent, also if that has to wait.
TEST(credits, a_message_of_a_handler_waits_behind_those_of_its_rank) {
    machine_model model = free_model(3, network_kind::crossbar);
    model.crossbar.latency = flight;
    model.reception.credits = 1;
    model.reception.queues_without_credit = true;
    static std::uint64_t* word = nullptr;
    static std::vector<std::uint64_t> seen;
    seen.clear();
    model_run run(model);
    run.run_each({[](model_rank& self) {
                      for (std::uint64_t i = 1; i <= 3; ++i) self.put_word(1, 64, i);
                      self.compute(100 * flight);
                      self.fall_in();
                  },
                  [](model_rank& self) { word = &self.own(64); },
                  [](model_rank& self) {
                      self.compute(50);
                      self.send(0);
                  }},
                 [](detail::rank_context& here, incoming_message&) {
                     if (here.rank == 0) {
                         here.transport->send(
                             here, {.target = 1, .kind = 0, .handler = 0, .arguments = {}});
                     } else {
                         seen.push_back(*word);
                     }
                 });
    EXPECT_EQ(seen, std::vector<std::uint64_t>{3});
}

}  // namespace
}  // namespace selion::machine::sim
