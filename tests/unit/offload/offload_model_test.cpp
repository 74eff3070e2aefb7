// SPDX-License-Identifier: Apache-2.0
#include "selion/offload_model.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "selion/error.hpp"

namespace {

using selion::call_pattern;
using selion::model_time;
using selion::offload_setting;
using selion::offload_work;

double round_ms(const offload_work& work, const offload_setting& setting) {
    return selion::round_time(work, setting).count() * 1000;
}

offload_work work_of(double in_ms, double out_ms, double compute_ms) {
    return {model_time(in_ms / 1000), model_time(out_ms / 1000), model_time(compute_ms / 1000)};
}

TEST(offload_model, plain_rounds_take_the_longest_of_three_ways) {
    const offload_work work = work_of(4, 8, 100);
    EXPECT_DOUBLE_EQ(round_ms(work, {.workers = 4}), 4.0 / 4 + 100.0 / 4 + 8);  // unsaturated
    EXPECT_DOUBLE_EQ(round_ms(work, {.workers = 40}), 4 + 8);                   // saturated
    const offload_work more_in = work_of(8, 4, 100);
    EXPECT_DOUBLE_EQ(round_ms(more_in, {.workers = 4}), 8 + 100.0 / 4 + 4.0 / 4);
}

TEST(offload_model, pipelined_rounds_scale_until_the_bus_is_full) {
    const offload_work work = work_of(4, 8, 100);
    const auto with = [](std::uint32_t workers) {
        return offload_setting{.workers = workers, .pattern = call_pattern::pipelined};
    };
    EXPECT_DOUBLE_EQ(round_ms(work, with(4)), 112.0 / 4);
    EXPECT_DOUBLE_EQ(round_ms(work, with(16)), 12);
    EXPECT_DOUBLE_EQ(round_ms(work, {.workers = 4, .pattern = call_pattern::overlapped}),
                     100.0 / 4);
}

TEST(offload_model, what_all_get_costs_the_host_for_each) {
    offload_work work = work_of(4, 8, 100);
    work.is_same_for_all = true;
    EXPECT_DOUBLE_EQ(round_ms(work, {.workers = 2}), 4 + 50 + 16);
    EXPECT_DOUBLE_EQ(round_ms(work, {.workers = 16}), 16 * 12);
    EXPECT_DOUBLE_EQ(round_ms(work, {.workers = 2, .sends_once = true}), 4 + 50 + 16);
    EXPECT_DOUBLE_EQ(round_ms(work, {.workers = 16, .sends_once = true}), 4 + 100.0 / 16 + 128);
}

TEST(offload_model, finds_where_more_workers_do_not_help) {
    const auto found = selion::predict_offload(
        work_of(5, 5, 50), {.workers = 8, .pattern = call_pattern::pipelined}, 16);
    EXPECT_TRUE(found.is_saturated);
    EXPECT_EQ(found.saturates_at, 6U);
    EXPECT_EQ(found.best_workers, 6U);
    EXPECT_DOUBLE_EQ(found.speedup, 6);
    EXPECT_DOUBLE_EQ(found.transfer_share, 1);
    ASSERT_EQ(found.speedups.size(), 16U);
    EXPECT_DOUBLE_EQ(found.speedups[2], 3);
}

TEST(offload_model, refuses_times_that_are_none) {
    constexpr double never = std::numeric_limits<double>::infinity();
    const double no_number = std::numeric_limits<double>::quiet_NaN();
    for (const double each : {never, no_number, -1.0}) {
        EXPECT_THROW(selion::predict_offload(work_of(each, 1, 1), {}, 4), selion::error);
        EXPECT_THROW(selion::offload_verdict(work_of(1, each, 1), {}, 4), selion::error);
        EXPECT_THROW(selion::round_time(work_of(1, 1, each), {}), selion::error);
    }
}

TEST(offload_model, says_it_in_words) {
    const offload_work work = work_of(5, 5, 50);
    const offload_setting pipelined{.workers = 8, .pattern = call_pattern::pipelined};
    EXPECT_EQ(selion::offload_verdict(work, pipelined, 16, 64),
              "8 workers: 100 % of the time is transfer; 6 times as fast as one; saturated from 6 "
              "workers; best with 6; use blocks of at least 104 × 104");
    EXPECT_EQ(selion::offload_verdict(work_of(1, 1, 500), pipelined, 16, 64),
              "8 workers: 3 % of the time is transfer; 8 times as fast as one; the host's "
              "transfers do not saturate with up to 16 workers");
    const offload_setting many{.workers = 128, .pattern = call_pattern::pipelined};
    EXPECT_EQ(selion::offload_verdict(work_of(1, 1, 1e5), many, 16),
              "128 workers: 0 % of the time is transfer; 128 times as fast as one; the host's "
              "transfers do not saturate with up to 128 workers");
}

TEST(offload_model, proposes_no_blocks_that_nobody_could_mean) {
    const offload_setting alone{.pattern = call_pattern::pipelined};
    const std::string text = selion::offload_verdict(work_of(1, 1, 1e-9), alone, 16, 64);
    EXPECT_EQ(text.find("blocks"), std::string::npos) << text;
}

TEST(offload_model, refuses_what_makes_no_sense) {
    EXPECT_THROW(selion::round_time(work_of(1, 1, 1), {.workers = 0}), selion::error);
    EXPECT_THROW(selion::round_time(work_of(-1, 1, 1), {}), selion::error);
}

using milliseconds = std::chrono::duration<double, std::milli>;

TEST(offload_model, curves_have_an_end) {
    constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    const offload_setting many{.workers = most, .pattern = call_pattern::pipelined};
    EXPECT_THROW(selion::predict_offload(work_of(4, 8, 100), {.workers = 4}, most), selion::error);
    EXPECT_NE(selion::offload_verdict(work_of(4, 8, 100), many, 16, 0).find("saturated from 10 "),
              std::string::npos);
    EXPECT_NE(
        selion::offload_verdict(work_of(0, 0, 100), many, 16, 0).find("up to 1048576 workers"),
        std::string::npos);
}

TEST(offload_model, costs_of_calls_are_a_line_through_trials) {
    const std::vector<selion::chunk_trial> trials{
        {1, milliseconds(1.5), milliseconds(2)},
        {2, milliseconds(9), milliseconds(9)},
        {5, milliseconds(3.5), milliseconds(1)},
    };
    const selion::chunk_cost found = selion::fit_chunk_cost(trials);
    EXPECT_DOUBLE_EQ(found.call.transfer.count(), 1e-3);
    EXPECT_DOUBLE_EQ(found.item.transfer.count(), 0.5e-3);
    EXPECT_DOUBLE_EQ(found.call.compute.count(), 2e-3);  // it does not fall
    EXPECT_DOUBLE_EQ(found.item.compute.count(), 0);
    EXPECT_THROW(selion::fit_chunk_cost({}), selion::error);
}

TEST(offload_model, chunks_are_as_small_as_the_host_can_serve) {
    const selion::chunk_cost cost{{0, milliseconds(1), {}},
                                  {1, milliseconds(0.1), milliseconds(1)}};
    // Of 8 items: computing takes 8 ms, the transfers of four workers 7.2 ms, 32 rounds.
    const selion::chunk_plan overlapped = selion::plan_chunks(cost, 1000, 4, 64);
    EXPECT_EQ(overlapped.items, 8u);
    EXPECT_EQ(overlapped.depth, 2u);
    EXPECT_NEAR(overlapped.total.count(), (1.8 + 32 * 8) * 1e-3, 1e-9);
    // One after the other: 36.2 ms for 32 items, 8 rounds.
    const selion::chunk_plan careful = selion::plan_chunks(cost, 1000, 4, 1);
    EXPECT_EQ(careful.items, 32u);
    EXPECT_EQ(careful.depth, 1u);
    EXPECT_NEAR(careful.total.count(), (4.2 + 8 * 36.2) * 1e-3, 1e-9);
    EXPECT_EQ(selion::plan_chunks({}, 0, 2, 2).items, 1u);
    // Calls cost nothing, then nothing else.
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(selion::plan_chunks({{}, {1, {}, milliseconds(1)}}, most, 4, 2).items, 1u);
    EXPECT_EQ(selion::plan_chunks({{0, milliseconds(1), {}}, {}}, most, 1, 1).items, most);
    EXPECT_THROW(selion::plan_chunks(cost, 10, 0, 2), selion::error);
}

}  // namespace
