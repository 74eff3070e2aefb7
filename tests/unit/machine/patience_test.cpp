// SPDX-License-Identifier: Apache-2.0
#include "machine/node/patience.hpp"

#include <gtest/gtest.h>

#include "machine/machine.hpp"

namespace selion::machine::node {
namespace {

TEST(stay_awake, ends_when_something_arrives) {
    detail::turn_record record;
    const turn_watch turns(record);
    for (const patience& how : {patience{1'000'000'000, 0}, patience{0, 1'000'000'000}}) {
        int looks = 0;
        const auto third_time = [&] { return ++looks == 3; };
        EXPECT_EQ(stay_awake({how, turns, no_deadline}, third_time), idle_outcome::arrived);
        EXPECT_EQ(looks, 3);
    }
}

TEST(stay_awake, ends_when_patience_does) {
    detail::turn_record record;
    const turn_watch turns(record);
    const std::int64_t start_ns = steady_now_ns();
    EXPECT_EQ(stay_awake({{100'000, 200'000}, turns, no_deadline}, [] { return false; }),
              idle_outcome::tired);
    EXPECT_GE(steady_now_ns() - start_ns, 300'000);
}

TEST(stay_awake, ends_at_the_deadline) {
    detail::turn_record record;
    const turn_watch turns(record);
    constexpr std::int64_t long_ns = 3'600'000'000'000;
    for (const patience& how : {patience{long_ns, 0}, patience{0, long_ns}}) {
        const std::int64_t deadline_ns = steady_now_ns() + 100'000;
        EXPECT_EQ(stay_awake({how, turns, deadline_ns}, [] { return false; }), idle_outcome::late);
        EXPECT_GE(steady_now_ns(), deadline_ns);
        EXPECT_EQ(stay_awake({how, turns, 0}, [] { return false; }), idle_outcome::late);
    }
}

TEST(stay_awake, looks_even_when_the_deadline_has_passed) {
    detail::turn_record record;
    const turn_watch turns(record);
    EXPECT_EQ(stay_awake({{1000, 1000}, turns, 0}, [] { return true; }), idle_outcome::arrived);
    EXPECT_EQ(stay_awake({{0, 1000}, turns, 0}, [] { return true; }), idle_outcome::arrived);
}

}  // namespace
}  // namespace selion::machine::node
