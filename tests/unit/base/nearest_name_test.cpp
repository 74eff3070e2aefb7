// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.hpp"

#include <gtest/gtest.h>

#include <array>

namespace selion::base {
namespace {

constexpr std::array<std::string_view, 4> kinds{"threads", "processes", "fabric", "sim"};

TEST(nearest_name, finds_what_was_meant) {
    EXPECT_EQ(nearest_name("threads", kinds), "threads");
    EXPECT_EQ(nearest_name("thread", kinds), "threads");
    EXPECT_EQ(nearest_name("treads", kinds), "threads");
    EXPECT_EQ(nearest_name("thraeds", kinds), "threads");
    EXPECT_EQ(nearest_name("proceses", kinds), "processes");
    EXPECT_EQ(nearest_name("sin", kinds), "sim");
}

TEST(nearest_name, stays_silent_when_nothing_is_near) {
    EXPECT_EQ(nearest_name("qqqqqqq", kinds), "");
    EXPECT_EQ(nearest_name("", kinds), "");
    EXPECT_EQ(nearest_name("threads", {}), "");
    EXPECT_EQ(nearest_name("proceses", kinds, 1), "processes");
    EXPECT_EQ(nearest_name("prooceses", kinds, 1), "");
}

TEST(nearest_name, prefers_the_nearer_one) {
    constexpr std::array<std::string_view, 3> names{"stack", "trace", "track"};
    EXPECT_EQ(nearest_name("trak", names), "track");
    EXPECT_EQ(nearest_name("tracc", names), "trace");  // as near as track, but first
}

}  // namespace
}  // namespace selion::base
