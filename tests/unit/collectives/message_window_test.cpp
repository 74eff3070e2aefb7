// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collectives/team_state.hpp"

namespace selion::collectives {
namespace {

constexpr std::uint64_t mib = 1 << 20;

TEST(message_window, is_full_with_so_many_collectives) {
    message_window window;
    for (int turn = 0; turn < 3; ++turn) {
        for (int i = 1; i < 8; ++i) EXPECT_FALSE(window.is_full_with(100, 8)) << i;
        EXPECT_TRUE(window.is_full_with(100, 8));
        EXPECT_EQ(window.collectives, 0u);
        EXPECT_EQ(window.bytes, 0u);
    }
}

TEST(message_window, is_full_with_so_many_bytes) {
    message_window window;
    EXPECT_FALSE(window.is_full_with(10 * mib, 8));
    EXPECT_FALSE(window.is_full_with(6 * mib, 8));
    EXPECT_TRUE(window.is_full_with(1, 8));
    EXPECT_TRUE(window.is_full_with(16 * mib + 1, 8));
    EXPECT_FALSE(window.is_full_with(16 * mib, 8));
}

}  // namespace
}  // namespace selion::collectives
