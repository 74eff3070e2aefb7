// SPDX-License-Identifier: Apache-2.0
/// Ranks that run ahead of what they have sent, and handlers that come in between.
#include <gtest/gtest.h>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

constexpr ticks wire_time = 100;
constexpr ticks computed = 1'000'000;

/// Has the sender's signal raised.
void answer(detail::rank_context& here, incoming_message& message) {
    const std::uint64_t word = detail::global_address(message.about.origin, 0);
    here.transport->put(here, {.target = word,
                               .source = nullptr,
                               .bytes = 0,
                               .signal = word,
                               .update = detail::signal_update{1, true}});
}

/// When rank 1 has the answer of rank 0, which has sent three puts ahead. @param target of these
ticks answered_at(std::uint32_t target) {
    machine_model model = free_model(3, network_kind::crossbar);
    model.crossbar.latency = wire_time;
    model_run run(model);
    run.run_each({[target](model_rank& self) {
                      for (std::uint64_t i = 0; i < 3; ++i) {
                          self.compute(computed);
                          self.put_word(target, 64, i);
                      }
                  },
                  [](model_rank& self) {
                      self.compute(1);  // the puts have been sent
                      self.send(0);
                      self.await(0, 1);
                  }},
                 answer);
    return run.ended(1);
}

TEST(sent_ahead, a_handler_s_message_is_behind_those_to_the_same_rank_and_no_others) {
    EXPECT_EQ(answered_at(2), 1 + 2 * wire_time);
    EXPECT_EQ(answered_at(1), 3 * computed + wire_time);
}

/// The first one finds that puts are acknowledged by somebody who may have handlers to run.
TEST(sent_ahead, hardware_that_runs_a_handler_acknowledges_later) {
    constexpr ticks handled = 50'000;
    machine_model model = free_model(3, network_kind::crossbar);
    model.crossbar.latency = wire_time;
    model.acknowledges_puts = true;
    model_run run(model);
    run.run_each({[](model_rank& self) {
                      self.compute(2 * wire_time);  // the handler runs
                      self.put(2, 64, 8);
                      self.quiet();
                  },
                  [](model_rank& self) { self.send(0); }},
                 [](detail::rank_context& here, incoming_message&) {
                     here.clock->charge(here, {.picoseconds = handled});
                 });
    EXPECT_EQ(run.ended(0), wire_time + handled);
}

}  // namespace
}  // namespace selion::machine::sim
