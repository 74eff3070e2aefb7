// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/perturbation.hpp"

#include <gtest/gtest.h>

namespace selion::machine::sim {
namespace {

constexpr ticks timer = 1000;
constexpr ticks flight = 30;

run_setting losing(double probability) {
    run_setting setting;
    setting.loss_probability = probability;
    return setting;
}

TEST(loss, is_off_unless_asked_for) {
    EXPECT_FALSE(perturbation(run_setting{}, tick_length{}, timer).is_on());
    EXPECT_TRUE(perturbation(losing(0.1), tick_length{}, timer).is_on());
}

TEST(loss, what_got_lost_arrives_a_flight_after_its_senders_timer) {
    perturbation link(losing(0.5), tick_length{}, timer);
    int lost = 0;
    int lost_again = 0;
    for (std::uint32_t to = 1; to <= 1000; ++to) {
        const ticks now = 2500 + to % 400;  // sent between two rounds of the timer
        const ticks at = link.arrival({0, to, now, flight, true}).at;
        if (at == now) continue;
        ++lost;
        EXPECT_EQ((at - flight) % timer, 0);
        EXPECT_GE(at, 3000 + flight);
        lost_again += at > 3000 + flight ? 1 : 0;
    }
    // Half of a thousand, and half of these again: off by five standard deviations at most.
    EXPECT_NEAR(lost, 500, 80);
    EXPECT_NEAR(lost_again, 250, 70);
}

TEST(loss, and_lateness_never_leave_the_numbers) {
    run_setting setting = losing(0.999);
    setting.explore = exploration::random;
    constexpr ticks second = 1'000'000'000'000;
    perturbation link(setting, tick_length{}, 1'000'000 * second);
    for (std::uint32_t to = 1; to <= 300; ++to) {
        const ticks at = link.arrival({0, to, longest_time / 2, longest_time / 4, true}).at;
        EXPECT_GE(at, longest_time / 2);
    }
}

TEST(loss, and_delays_are_the_networks) {
    run_setting setting = losing(0.5);
    setting.delay_probability = 1;
    setting.delay_ps = 700;
    perturbation link(setting, tick_length{}, timer);
    for (std::uint32_t to = 1; to <= 100; ++to) {
        EXPECT_EQ(link.arrival({0, to, 2500, flight, false}).at, 2500);
        EXPECT_GE(link.arrival({1, to, 2500, flight, true}).at, 2500 + 700);
    }
}

TEST(exploration, makes_accesses_to_shared_memory_late) {
    run_setting setting;
    EXPECT_EQ(perturbation(setting, tick_length{}, timer).explored_lateness(flight), 0);
    setting.explore = exploration::random;
    perturbation accesses(setting, tick_length{}, timer);
    int late = 0;
    for (int i = 0; i < 1000; ++i) late += accesses.explored_lateness(flight) > 0 ? 1 : 0;
    EXPECT_GT(late, 500);
}

TEST(loss, keeps_the_order_of_what_one_rank_sends_to_another) {
    perturbation link(losing(0.3), tick_length{}, timer);
    ticks last = 0;
    int late = 0;
    for (ticks now = flight; now < 50'000; now += 7) {
        const auto [at, is_behind] = link.arrival({0, 1, now, flight, true});
        EXPECT_GE(at, now);
        EXPECT_GE(at, last);
        EXPECT_EQ(is_behind, at == last);  // else it would be received before the one that is late
        late += is_behind ? 1 : 0;
        last = at;
    }
    EXPECT_GT(late, 0);
}

}  // namespace
}  // namespace selion::machine::sim
