// SPDX-License-Identifier: Apache-2.0
/// Simulated ranks whose own code takes the host's time.
#include <gtest/gtest.h>

#include <ctime>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

constexpr std::int64_t worked_ps = 5'000'000'000;

/// Takes that much processor time.
void work() {
    const auto now_ps = [] {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return now.tv_sec * std::int64_t{1'000'000'000'000} + now.tv_nsec * 1000;
    };
    const std::int64_t begun_ps = now_ps();
    while (now_ps() - begun_ps < worked_ps) {
    }
}

run_setting measured() {
    run_setting setting = model_run::small();
    setting.host_time_scale = 1;
    return setting;
}

TEST(measured_time, counts_from_the_beginning_of_a_rank) {
    model_run run(free_model(2, network_kind::crossbar), measured());
    std::int64_t first_ps = 0;
    std::int64_t other_ps = 0;
    run.run_each({[&](model_rank& self) {
                      work();
                      first_ps = self.read_clock_ps();
                  },
                  [&](model_rank& self) { other_ps = self.read_clock_ps(); }});
    EXPECT_GE(first_ps, worked_ps);
    EXPECT_LT(other_ps, worked_ps);
}

TEST(measured_time, counts_more_on_a_slow_rank) {
    constexpr int factor = 50;
    run_setting setting = measured();
    setting.slow[0] = factor;
    model_run run(free_model(2, network_kind::crossbar), setting);
    std::int64_t first_ps = 0;
    run.run_each({[&](model_rank& self) {
        work();
        first_ps = self.read_clock_ps();
    }});
    EXPECT_GE(first_ps, factor * worked_ps);
}

TEST(measured_time, counts_in_handlers) {
    static std::int64_t seen_ps = 0;
    model_run run(free_model(2, network_kind::crossbar), measured());
    run.run_each({[](model_rank& self) {
                     self.send(1);
                     self.fall_in();
                 }},
                 [](detail::rank_context& here, incoming_message&) {
                     work();
                     seen_ps = here.clock->now_ps();
                 });
    EXPECT_GE(seen_ps, worked_ps);
}

}  // namespace
}  // namespace selion::machine::sim
