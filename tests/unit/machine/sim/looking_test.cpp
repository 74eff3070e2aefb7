// SPDX-License-Identifier: Apache-2.0
/// Loops that wait for something by looking come to an end, whatever a look and what lies between
/// cost.
#include <gtest/gtest.h>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

constexpr std::uint64_t looked_at = 64;
constexpr int most_looks = 100'000;

using look = std::function<bool(model_rank&)>;

/// Looks of rank 0, which comes first of all that happens at one time, until rank 2 lets happen
/// what it waits for.
int looks_until(const machine_model& model, const look& has_happened) {
    model_run run(model);
    int looks = 0;
    run.run_each({[&](model_rank& self) {
                      self.compute(1);
                      while (looks < most_looks && !has_happened(self)) ++looks;
                  },
                  [](model_rank&) {},
                  [](model_rank& self) {
                      self.compute(1);
                      self.fetch_add(1, looked_at, 1);
                      self.raise(0, 0);
                      self.put_word(0, looked_at, 1);
                  }});
    return looks;
}

machine_model without_costs() { return free_model(3, network_kind::crossbar); }

/// The ranks share memory.
machine_model shared_without_costs() {
    machine_model model = free_model(3, network_kind::none);
    model.node.emplace().cores = 3;
    return model;
}

bool fetches(model_rank& self) { return self.fetch_add(1, looked_at, 0) != 0; }
bool reads(model_rank& self) { return self.get_word(1, looked_at) != 0; }
bool is_told(model_rank& self) { return self.own(0) != 0; }

TEST(looking, an_answer_that_took_no_time_is_a_look) {
    EXPECT_LT(looks_until(without_costs(), fetches), 10);
    EXPECT_LT(looks_until(without_costs(), reads), 10);
    EXPECT_LT(looks_until(shared_without_costs(), fetches), 10);
}

TEST(looking, an_answer_between_that_took_no_time_makes_no_look_the_first_one_again) {
    for (const look& asks : {look(fetches), look(reads)}) {
        const look both = [&](model_rank& self) {
            const bool has_come = asks(self);
            static_cast<void>(self.await_until(0, 2, 0));
            return has_come;
        };
        EXPECT_LT(looks_until(without_costs(), both), 10);
    }
}

TEST(looking, work_between_that_costs_nothing_does_not_either) {
    const look works = [](model_rank& self) {
        self.context().clock->charge(self.context(), {.flops = 1, .loads = 1});
        return self.await_until(0, 1, 0);
    };
    EXPECT_LT(looks_until(without_costs(), works), 10);
    EXPECT_LT(looks_until(shared_without_costs(), works), 10);
}

/// What so many charges of one load take, in ticks.
ticks time_of_loads(double each, int charges, tick_length tick) {
    machine_model model = without_costs();
    model.processor.load = rate::from_ticks(each);
    model.tick = tick;
    model_run run(model);
    run.run_each({[&](model_rank& self) {
        for (int i = 0; i < charges; ++i) {
            self.context().clock->charge(self.context(), {.loads = 1});
        }
    }});
    return run.ended(0);
}

TEST(looking, work_of_less_than_a_tick_adds_up) {
    constexpr tick_length long_tick{.numerator_ps = 2500, .denominator = 3};
    EXPECT_EQ(time_of_loads(0.25, 8, {}), 2);
    EXPECT_EQ(time_of_loads(0.25, 8, long_tick), 2);
    EXPECT_EQ(time_of_loads(1.5, 8, long_tick), 12);
    EXPECT_EQ(time_of_loads(1.5, 8, {}), 8);
}

/// Each call takes no time, and waits for its answer on a word.
TEST(looking, calls_whose_answers_cost_nothing_come_to_an_end) {
    model_run run(without_costs());
    int calls = 0;
    run.run_each({[&](model_rank& self) {
                      self.compute(1);
                      while (calls < most_looks && !is_told(self)) {
                          ++calls;
                          self.send(1);
                          self.await(32, static_cast<std::uint64_t>(calls));
                      }
                  },
                  [](model_rank&) {},
                  [](model_rank& self) {
                      self.compute(1);
                      self.raise(0, 0);
                  }},
                 [](detail::rank_context& here, incoming_message& message) {
                     const std::uint64_t word = detail::global_address(message.about.origin, 32);
                     here.transport->put(here, {.target = word,
                                                .source = nullptr,
                                                .bytes = 0,
                                                .signal = word,
                                                .update = detail::signal_update{1, true}});
                 });
    EXPECT_LT(calls, 2000);
}

/// Ranks that many others tell something at once pay nothing for it.
TEST(looking, a_few_waits_at_one_time_cost_nothing) {
    machine_model model = free_model(9, network_kind::crossbar);
    model.crossbar.latency = 100;
    model.processor.poll = 70;
    model_run run(model);
    run.run([](model_rank& self) {
        if (self.number() != 0) return self.raise(0, 32 * self.number());
        for (std::uint64_t from = 1; from < self.ranks(); ++from) self.await(32 * from, 1);
        EXPECT_EQ(self.read_clock_ps(), 100);
    });
}

}  // namespace
}  // namespace selion::machine::sim
