// SPDX-License-Identifier: Apache-2.0
#include "machine/node/turns.hpp"

#include <gtest/gtest.h>

namespace selion::machine::node {
namespace {

constexpr std::int64_t turn = 3'000'000;

/// A turn that has begun `quick` ticks after the thread yields again. @return how long it sleeps.
std::int64_t sleep_after(detail::turn_record& record, std::int64_t quick,
                         std::int64_t ticks = turn) {
    const std::int64_t before = record.sleeps_until + quick;
    note_long_turn(record, before, before + ticks);
    return record.sleeps_until - (before + ticks);
}

TEST(long_turn, is_no_reason_to_sleep_among_many_quick_ones) {
    detail::turn_record record;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(sleep_after(record, turn), 0);
}

TEST(long_turn, is_a_reason_to_sleep_where_there_is_little_else) {
    detail::turn_record record;
    EXPECT_EQ(sleep_after(record, turn), 0);
    EXPECT_EQ(sleep_after(record, turn - 1), 4 * turn);
    EXPECT_EQ(sleep_after(record, 0), 8 * turn);
    EXPECT_EQ(sleep_after(record, 10), 16 * turn);
    EXPECT_EQ(sleep_after(record, 10), 32 * turn);
    EXPECT_EQ(sleep_after(record, 10), 32 * turn);
    EXPECT_EQ(sleep_after(record, turn), 0) << "yields have been quick for as long";
    EXPECT_EQ(sleep_after(record, 10), 4 * turn) << "it begins anew";
}

TEST(long_turn, counts_no_more_than_a_host_that_has_stood_still_for_moments) {
    detail::turn_record record;
    constexpr std::int64_t hour = 10'000'000'000'000;
    EXPECT_EQ(sleep_after(record, 0, hour), 4 * most_turn_ticks);
}

TEST(yield_if_quick, does_not_yield_while_the_thread_should_sleep) {
    detail::turn_record record;
    EXPECT_TRUE(yield_if_quick(record, INT64_MAX));
    EXPECT_EQ(record.sleeps_until, 0) << "no turn is that long";
    record.sleeps_until = INT64_MAX;
    EXPECT_FALSE(yield_if_quick(record, INT64_MAX));
}

}  // namespace
}  // namespace selion::machine::node
