// SPDX-License-Identifier: Apache-2.0
#include "machine/node/turns.hpp"

#include <gtest/gtest.h>

#include <array>

#include "machine/machine.hpp"
#include "machine/node/patience.hpp"

namespace selion::machine::node {
namespace {

constexpr std::int64_t turn = 3'000'000;
constexpr std::int64_t now = 1'000'000'000;

/// A turn that is lost after some quick ones. @return how long the thread sleeps then.
std::int64_t sleep_after(detail::turn_record& record, std::int64_t quick_ticks,
                         std::int64_t ticks = turn) {
    record.quick_ticks += quick_ticks;
    note_lost_turn(record, now, ticks);
    return record.sleeps_until - now;
}

TEST(lost_turn, is_no_reason_to_sleep_among_many_quick_ones) {
    detail::turn_record record;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(sleep_after(record, turn), 0);
}

TEST(lost_turn, is_a_reason_to_sleep_where_there_is_little_else) {
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

TEST(lost_turn, counts_no_more_than_a_host_that_has_stood_still_for_moments) {
    detail::turn_record record;
    constexpr std::int64_t hour = 10'000'000'000'000;
    EXPECT_EQ(sleep_after(record, 0, hour), 4 * most_turn_ticks);
}

TEST(yields_take_long, until_the_thread_has_slept_its_turns) {
    constexpr std::int64_t most = most_turn_ticks * most_turns_slept;
    EXPECT_FALSE(yields_take_long({.sleeps_until = now}, now));
    EXPECT_TRUE(yields_take_long({.sleeps_until = now + 1}, now));
    EXPECT_TRUE(yields_take_long({.sleeps_until = now + most}, now));
    EXPECT_FALSE(yields_take_long({.sleeps_until = now + most + 1}, now)) << "it was set back";
}

TEST(long_turn, is_longer_where_many_ranks_share_a_processor) {
    EXPECT_EQ(long_turn_ticks_of(2, 2), long_turn_ticks + (1 << 14));
    EXPECT_EQ(long_turn_ticks_of(1024, 2), 9 * long_turn_ticks);
}

}  // namespace

/// Tells a watch of turns as they might have been.
class turn_watch_test : public testing::Test {
protected:
    static constexpr std::uint32_t here = 3;

    void somebody_leaves(std::int64_t ticks_ago, std::uint32_t processor = here) {
        calls[1].left_at = packed({turn_now().ticks - ticks_ago, processor}) | away_bit;
    }
    void comes_back() { watch.look_back({turn_now().ticks, here}, turn); }
    void SetUp() override {
        if (!can_tell_processors()) GTEST_SKIP() << "the processor does not tell its number";
    }
    /// Looks several times, for the case that the host stands still in between.
    bool sleeps() {
        for (int i = 0; i < 50; ++i) {
            comes_back();
            if (watch.should_sleep()) return true;
        }
        return false;
    }

    std::array<call_record, 3> calls{};
    detail::rank_context context = [this] {
        detail::rank_context made;
        made.call = calls.data();
        made.sharers = calls.data();
        made.sharer_count = static_cast<std::uint32_t>(calls.size());
        return made;
    }();
    turn_watch watch{context};
};

TEST_F(turn_watch_test, sleeps_where_no_rank_has_had_the_processor) { EXPECT_TRUE(sleeps()); }

TEST_F(turn_watch_test, sleeps_where_a_rank_has_left_it_long_ago) {
    somebody_leaves(turn);
    EXPECT_TRUE(sleeps());
}

TEST_F(turn_watch_test, sleeps_where_a_rank_has_left_another_processor) {
    somebody_leaves(0, here + 1);
    EXPECT_TRUE(sleeps());
}

TEST_F(turn_watch_test, yields_on_where_a_rank_has_had_the_processor_until_now) {
    bool has_yielded = false;
    for (int i = 0; i < 50 && !has_yielded; ++i) {  // the host may stand still in between
        context.own.turns = {};
        calls[0] = {};
        somebody_leaves(0);
        comes_back();
        has_yielded = watch.yield_if_quick();
    }
    EXPECT_TRUE(has_yielded);
}

TEST_F(turn_watch_test, yields_on_where_a_rank_was_interrupted_while_it_computed) {
    bool yields_on = false;
    for (int i = 0; i < 50 && !yields_on; ++i) {
        context.own.turns = {};
        calls[0] = {};
        somebody_leaves(turn);
        calls[1].left_at &= ~away_bit;
        comes_back();
        yields_on = !watch.should_sleep();
    }
    EXPECT_TRUE(yields_on);
}

TEST_F(turn_watch_test, does_not_tell_of_a_thread_that_is_not_the_ranks_own) {
    context.is_foreign_thread = true;
    EXPECT_TRUE(watch.yield_if_quick());
    watch.leave_for([] {});
    EXPECT_EQ(calls[0].left_at, 0);
}

TEST_F(turn_watch_test, sleeps_where_a_rank_has_been_blocked_for_long) {
    somebody_leaves(longest_stay_ticks + place_bits);
    calls[1].left_at &= ~away_bit;
    EXPECT_TRUE(sleeps());
}

TEST_F(turn_watch_test, sleeps_where_another_has_lost_its_turn_since) {
    bool has_slept = false;
    for (int i = 0; i < 50 && !has_slept; ++i) {
        somebody_leaves(0);
        calls[1].left_at &= ~away_bit;  // it computes again
        calls[2].lost_at = packed({turn_now().ticks - turn / 2, here});
        comes_back();
        has_slept = watch.should_sleep();
    }
    EXPECT_TRUE(has_slept);
    EXPECT_NE(calls[0].lost_at, 0) << "others are told";
}

TEST_F(turn_watch_test, tells_others_when_it_leaves_and_that_it_is_back) {
    const std::int64_t before = turn_now().ticks;
    watch.leave_for([&] { EXPECT_NE(calls[0].left_at & away_bit, 0); });
    EXPECT_EQ(calls[0].left_at & away_bit, 0);
    EXPECT_GE(calls[0].left_at | place_bits, before);
    EXPECT_LE(calls[0].left_at & ~place_bits, turn_now().ticks);
    calls[0].left_at = 0;
    EXPECT_TRUE(watch.yield_if_quick());
    EXPECT_NE(calls[0].left_at, 0);
    EXPECT_EQ(calls[0].left_at & away_bit, 0);
}

TEST_F(turn_watch_test, does_not_yield_while_it_should_sleep) {
    ASSERT_TRUE(sleeps());
    bool has_refused = false;
    for (int i = 0; i < 50 && !has_refused; ++i) has_refused = sleeps() && !watch.yield_if_quick();
    EXPECT_TRUE(has_refused);
}

TEST_F(turn_watch_test, whoever_stays_awake_is_tired_at_once_where_yields_take_long) {
    constexpr patience very_long{0, 3'600'000'000'000};
    const auto never = [] { return false; };
    bool was_tired = false;
    for (int i = 0; i < 50 && !was_tired; ++i) {
        ASSERT_TRUE(sleeps());
        const std::int64_t deadline_ns = steady_now_ns() + 20'000'000;
        was_tired = stay_awake({very_long, watch, deadline_ns}, never) == idle_outcome::tired;
    }
    EXPECT_TRUE(was_tired);
}

TEST_F(turn_watch_test, whoever_stays_awake_is_late_when_the_deadline_has_passed) {
    constexpr patience very_long{0, 3'600'000'000'000};
    ASSERT_TRUE(sleeps());
    EXPECT_EQ(stay_awake({very_long, watch, 0}, [] { return false; }), idle_outcome::late);
}

}  // namespace selion::machine::node
