// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/lent_buffers.hpp"

#include <gtest/gtest.h>

namespace selion::machine::fabric {
namespace {

constexpr std::size_t kib = 1024;

TEST(lent_buffers, are_used_again_by_what_fits) {
    lent_buffers all(nullptr, 1024 * kib);
    EXPECT_FALSE(all.are_lent());
    lent_buffer* const first = all.take(100 * kib);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->capacity, 128 * kib);
    EXPECT_TRUE(all.are_lent());
    lent_buffer* const second = all.take(70 * kib);
    EXPECT_NE(second, first);
    all.give_back(first);
    EXPECT_EQ(all.take(128 * kib), first);
    all.give_back(first);
    all.give_back(second);
    EXPECT_FALSE(all.are_lent());
}

TEST(lent_buffers, come_to_no_more_than_is_allowed) {
    lent_buffers all(nullptr, 256 * kib);
    lent_buffer* const first = all.take(128 * kib);
    ASSERT_NE(all.take(128 * kib), nullptr);
    EXPECT_EQ(all.take(1), nullptr);
    all.give_back(first);
    EXPECT_EQ(all.take(128 * kib), first);
}

TEST(lent_buffers, make_way_for_other_sizes_when_nobody_has_them) {
    lent_buffers all(nullptr, 256 * kib);
    lent_buffer* const small[] = {all.take(64 * kib), all.take(64 * kib), all.take(64 * kib)};
    EXPECT_EQ(all.take(256 * kib), nullptr);
    for (lent_buffer* const one : small) all.give_back(one);
    lent_buffer* const large = all.take(256 * kib);
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(all.take(64 * kib), nullptr);
    all.give_back(large);
    EXPECT_NE(all.take(64 * kib), nullptr);
}

TEST(lent_buffers, what_must_be_there_is_and_does_not_stay) {
    lent_buffers all(nullptr, 64 * kib);
    ASSERT_NE(all.take(64 * kib, true), nullptr);
    lent_buffer* const more = all.take(256 * kib, true);
    ASSERT_NE(more, nullptr);
    all.give_back(more);
    EXPECT_EQ(all.take(256 * kib), nullptr);
}

}  // namespace
}  // namespace selion::machine::fabric
