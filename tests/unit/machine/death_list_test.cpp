// SPDX-License-Identifier: Apache-2.0
#include "machine/death_list.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "selion/counter.hpp"

namespace selion::machine {
namespace {

using ranks = std::vector<std::uint32_t>;

TEST(death_list, a_rank_dies_once) {
    death_list deaths(4);
    EXPECT_TRUE(deaths.declare(2));
    EXPECT_FALSE(deaths.declare(2));
    EXPECT_TRUE(deaths.is_dead(2));
    EXPECT_FALSE(deaths.is_dead(1));
    EXPECT_EQ(deaths.declared(), 1u);
}

TEST(death_list, deaths_are_told_in_the_order_in_which_they_were_declared) {
    death_list deaths(4);
    EXPECT_FALSE(deaths.next_untold());
    deaths.declare(3);
    deaths.declare(1);
    EXPECT_EQ(deaths.told(), 0u);
    EXPECT_EQ(deaths.next_untold(), 3u);
    deaths.tell_next();
    EXPECT_EQ(deaths.told(), 1u);
    EXPECT_EQ(deaths.next_untold(), 1u);
    deaths.tell_next();
    EXPECT_FALSE(deaths.next_untold());
    EXPECT_EQ(deaths.all_declared(), (ranks{3, 1}));
    EXPECT_EQ(deaths.told_rank(0), 3u);
    EXPECT_EQ(deaths.told_rank(1), 1u);
}

TEST(death_list, counters_are_lost_once_and_not_before_the_death_is_told) {
    death_list deaths(4);
    counter one;
    counter other;
    deaths.declare(1);
    deaths.declare(2);
    deaths.lose(1, &one);
    deaths.lose(1, &one);
    deaths.lose(2, &other);
    deaths.lose(2, nullptr);
    EXPECT_TRUE(deaths.take_lost(deaths.told()).empty());
    deaths.tell_next();
    EXPECT_EQ(deaths.take_lost(deaths.told()), (std::vector<counter*>{&one, &one}));
    EXPECT_TRUE(deaths.take_lost(deaths.told()).empty());
    deaths.tell_next();
    EXPECT_EQ(deaths.take_lost(deaths.told()), (std::vector<counter*>{&other}));
}

TEST(death_list, what_a_failed_call_wanted_is_neither_expected_nor_counted) {
    death_list deaths(4);
    counter one;
    deaths.expect(1, {.counted = &one});
    deaths.forget(1, {.counted = &one});
    EXPECT_TRUE(deaths.take_expected(1).empty());
    deaths.declare(1);
    deaths.lose(1, &one);  // of another call
    deaths.lose(1, &one);
    deaths.forget(1, {.counted = &one});
    deaths.tell_next();
    EXPECT_EQ(deaths.take_lost(deaths.told()), (std::vector<counter*>{&one}));
}

TEST(death_list, an_answer_is_expected_until_it_has_come_or_its_rank_is_dead) {
    death_list deaths(4);
    counter one;
    counter other;
    deaths.expect(1, {.counted = &one});
    deaths.expect(1, {.counted = &other});
    deaths.expect(2, {.counted = &one});
    EXPECT_TRUE(deaths.settle(1, {.counted = &one}));
    EXPECT_FALSE(deaths.settle(1, {.counted = &one}));
    const auto owed = deaths.take_expected(1);
    ASSERT_EQ(owed.size(), 1u);
    EXPECT_EQ(owed.front().counted, &other);
    EXPECT_FALSE(deaths.settle(1, {.counted = &other}));
    EXPECT_TRUE(deaths.settle(2, {.counted = &one}));
}

}  // namespace
}  // namespace selion::machine
