// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "machine/sim/engine/event_queue.hpp"
#include "run_on_model.hpp"

namespace selion::machine::sim {
namespace {

machine_model slow_wires() {
    machine_model model = free_model(2, network_kind::crossbar);
    set_costs(model, {.latency = 1000});
    return model;
}

/// A signal there and back, many times. @param deadline of every wait; 0: none
struct round_trips {
    ticks deadline;
    std::size_t most_entries = 0;

    void operator()(model_rank& rank) {
        constexpr std::uint64_t rounds = 20'000;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            if (rank.number() == 0) rank.raise(1, 0);
            if (deadline == 0) {
                rank.await(0, round);
            } else {
                ASSERT_TRUE(rank.await_until(0, round, rank.now() / 1000 * 1000 + deadline));
            }
            most_entries = std::max(most_entries, rank.events().entries());
            if (rank.number() == 1) rank.raise(0, 0);
        }
    }
};

TEST(cancelled_events, do_not_fill_the_queue) {
    round_trips without{.deadline = 0};
    round_trips with{.deadline = ticks{1'000'000'000'000}};
    model_run plain(slow_wires());
    plain.run([&](model_rank& rank) { without(rank); });
    model_run limited(slow_wires());
    limited.run([&](model_rank& rank) { with(rank); });
    EXPECT_LT(without.most_entries, 10u);
    EXPECT_LT(with.most_entries, 2100u) << "of 40,000 deadlines";
    EXPECT_EQ(limited.ended(), plain.ended()) << "a deadline that does not pass costs no time";
}

TEST(cancelled_events, are_those_of_ranks_that_are_resumed_again) {
    model_run run(slow_wires());
    run.run([&](model_rank& rank) {
        if (rank.number() != 0) return;
        engine& events = rank.events();
        for (int i = 0; i < 40'000; ++i) events.resume_at(events.current(), 1'000'000 + i);
        EXPECT_LT(events.entries(), 2100u);
        events.suspend();
        EXPECT_EQ(rank.now(), 1'039'999);
    });
}

TEST(cancelled_events, are_counted_where_a_mesh_steps_sooner_than_it_was_to) {
    machine_model model = free_model(4, network_kind::mesh);
    model.mesh.rows = 1;
    model.mesh.columns = 4;
    model.mesh.entry = 10;
    model.mesh.hop = 1000;
    model_run run(model);
    run.run([&](model_rank& rank) {
        rank.compute(15 * (3 - rank.number()));
        rank.put((rank.number() + 2) % 4, 64, 8);
        rank.compute(1'000'000);
        rank.fall_in();
    });
    EXPECT_EQ(run.all().events().entries(), 0u);
    EXPECT_EQ(run.all().events().pending(), 0u);
}

TEST(cancelled_events, the_others_keep_their_order) {
    event_queue queue;
    std::mt19937_64 random(7);
    std::vector<std::uint64_t> kept;
    for (std::uint64_t order = 1; order <= 1000; ++order) {
        const auto at = static_cast<ticks>(random() % 500);
        queue.push({{at, order}, nullptr});
        if (order % 3 == 0) kept.push_back(static_cast<std::uint64_t>(at) << 32 | order);
    }
    queue.drop([](const queue_entry& one) { return one.due.order % 3 != 0; });
    std::ranges::sort(kept);
    ASSERT_EQ(queue.size(), kept.size());
    for (const std::uint64_t wanted : kept) {
        const queue_entry next = queue.pop();
        EXPECT_EQ(static_cast<std::uint64_t>(next.due.at) << 32 | next.due.order, wanted);
    }
    EXPECT_TRUE(queue.empty());
}

TEST(cancelled_events, all_of_them_may_go) {
    event_queue queue;
    for (std::uint64_t order = 1; order <= 200; ++order) queue.push({{0, order}, nullptr});
    queue.drop([](const queue_entry&) { return true; });
    EXPECT_TRUE(queue.empty());
    queue.push({{3, 1}, nullptr});
    EXPECT_EQ(queue.pop().due.at, 3);
}

}  // namespace
}  // namespace selion::machine::sim
