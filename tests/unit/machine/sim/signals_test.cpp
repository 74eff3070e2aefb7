// SPDX-License-Identifier: Apache-2.0
// What signals cost, with data and without, and which of them `quiet` waits for.

#include <gtest/gtest.h>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

constexpr ticks way_of_signals = 100;
constexpr ticks sending_time = 7;

machine_model with_answers(reception_kind kind) {
    machine_model model = free_model(2, network_kind::crossbar);
    model.crossbar.latency = way_of_signals;
    model.reception.kind = kind;
    model.acknowledges_puts = true;
    set_costs(model, {.origin = sending_time});
    return model;
}

TEST(signals, quiet_waits_for_those_that_stay) {
    for (const auto kind : {reception_kind::hardware, reception_kind::polling}) {
        model_run run(with_answers(kind));
        run.run_each({[](model_rank& self) {
                          self.raise(1, 0);
                          self.quiet();
                      },
                      [](model_rank& self) { self.await(0, 1); }});
        EXPECT_EQ(run.ended(0), sending_time + 2 * way_of_signals);
    }
}

TEST(signals, quiet_does_not_wait_for_fleeting_ones) {
    for (const auto kind : {reception_kind::hardware, reception_kind::polling}) {
        model_run run(with_answers(kind));
        run.run_each({[](model_rank& self) {
                          self.raise_fleeting(1, 0);
                          self.quiet();
                      },
                      [](model_rank& self) { self.await(0, 1); }});
        EXPECT_EQ(run.ended(0), sending_time);
        EXPECT_EQ(run.ended(1), sending_time + way_of_signals);
    }
}

TEST(signals, quiet_waits_for_what_was_sent_before_a_fleeting_one) {
    for (const auto kind : {reception_kind::hardware, reception_kind::polling}) {
        model_run run(with_answers(kind));
        run.run_each({[](model_rank& self) {
                          self.put_word(1, 64, 7);
                          self.raise_fleeting(1, 0);
                          self.quiet();
                          EXPECT_EQ(self.now(), sending_time + 2 * way_of_signals);
                      },
                      [](model_rank& self) { self.await(0, 1); }});
    }
}

TEST(signals, with_data_cost_what_puts_do_unless_they_have_costs_of_their_own) {
    constexpr ticks own = 31;
    machine_model model = with_answers(reception_kind::hardware);
    const auto sent_after = [&](std::uint64_t bytes) {
        model_run run(model);
        run.run_each({[=](model_rank& self) { self.put_signal(1, 0, bytes); }});
        return run.ended(0);
    };
    EXPECT_EQ(sent_after(8), sending_time);
    operation_regime regime;
    regime.origin = own;
    model.put_signal.regimes = {regime};
    EXPECT_EQ(sent_after(8), own);
    EXPECT_EQ(sent_after(0), sending_time);  // of a bare signal
}

}  // namespace
}  // namespace selion::machine::sim
