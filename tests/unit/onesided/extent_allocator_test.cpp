// SPDX-License-Identifier: Apache-2.0
#include "onesided/extent_allocator.hpp"

#include <gtest/gtest.h>

namespace selion::onesided {
namespace {

constexpr std::uint64_t no_limit = std::uint64_t{1} << 40;

std::uint64_t take(extent_allocator& from, std::uint64_t bytes, std::uint64_t alignment = 16) {
    const auto range = from.allocate(bytes, alignment, no_limit);
    EXPECT_TRUE(range.has_value());
    EXPECT_EQ(range->bytes, bytes);
    return range->start;
}

TEST(extent_allocator, grows_from_zero) {
    extent_allocator all;
    EXPECT_EQ(all.frontier(), 0u);
    EXPECT_EQ(take(all, 32), 0u);
    EXPECT_EQ(take(all, 16), 32u);
    EXPECT_EQ(all.frontier(), 48u);
    EXPECT_EQ(all.used_bytes(), 48u);
}

TEST(extent_allocator, takes_the_first_gap_that_fits) {
    extent_allocator all;
    const std::uint64_t small = take(all, 32);
    static_cast<void>(take(all, 16));
    const std::uint64_t large = take(all, 64);
    static_cast<void>(take(all, 16));
    all.deallocate(small);
    all.deallocate(large);
    EXPECT_EQ(take(all, 48), large);
    EXPECT_EQ(take(all, 32), small);
    EXPECT_EQ(take(all, 16), large + 48);  // the rest of the large gap
}

TEST(extent_allocator, knows_its_largest_gap) {
    extent_allocator all;
    EXPECT_EQ(all.largest_gap(), 0u);
    const std::uint64_t small = take(all, 32);
    static_cast<void>(take(all, 16));
    const std::uint64_t large = take(all, 64);
    const std::uint64_t last = take(all, 16);
    all.deallocate(large);
    all.deallocate(small);
    EXPECT_EQ(all.largest_gap(), 64u);
    all.deallocate(last);  // what lies before the frontier is no gap any more
    EXPECT_EQ(all.largest_gap(), 32u);
}

TEST(extent_allocator, neighbours_that_are_free_become_one) {
    for (const bool backwards : {false, true}) {
        extent_allocator all;
        const std::uint64_t a = take(all, 32);
        const std::uint64_t b = take(all, 32);
        const std::uint64_t c = take(all, 32);
        static_cast<void>(take(all, 16));
        all.deallocate(b);
        all.deallocate(backwards ? c : a);
        all.deallocate(backwards ? a : c);
        EXPECT_EQ(take(all, 96), a);
    }
}

TEST(extent_allocator, ground_at_the_end_is_given_back) {
    extent_allocator all;
    const std::uint64_t a = take(all, 32);
    const std::uint64_t b = take(all, 32);
    all.deallocate(a);
    EXPECT_EQ(all.frontier(), 64u);
    all.deallocate(b);
    EXPECT_EQ(all.frontier(), 0u);
    EXPECT_EQ(all.used_bytes(), 0u);
}

TEST(extent_allocator, aligns_and_uses_the_gap_that_this_leaves) {
    extent_allocator all;
    static_cast<void>(take(all, 16));
    EXPECT_EQ(take(all, 4096, 4096), 4096u);
    EXPECT_EQ(take(all, 4080), 16u);
    EXPECT_EQ(all.used_bytes(), 8192u);
}

TEST(extent_allocator, never_passes_the_limit) {
    extent_allocator all;
    EXPECT_FALSE(all.allocate(128, 16, 127).has_value());
    EXPECT_TRUE(all.allocate(128, 16, 128).has_value());
    EXPECT_FALSE(all.allocate(16, 16, 128).has_value());
    EXPECT_FALSE(all.allocate(16, 4096, 4000).has_value());  // the start alone lies beyond
    EXPECT_EQ(all.frontier(), 128u);
    EXPECT_EQ(all.used_bytes(), 128u);
    EXPECT_TRUE(all.allocate(16, 16, 144).has_value());
}

TEST(extent_allocator, knows_what_has_had_an_owner) {
    extent_allocator all;
    const auto fresh = all.allocate(64, 16, no_limit);
    EXPECT_FALSE(fresh->was_used);
    all.deallocate(fresh->start);
    EXPECT_TRUE(all.allocate(32, 16, no_limit)->was_used);
    EXPECT_TRUE(all.allocate(64, 16, no_limit)->was_used);  // a part of it
    EXPECT_FALSE(all.allocate(64, 16, no_limit)->was_used);
    all.deallocate(0);  // a gap before others
    EXPECT_TRUE(all.allocate(32, 16, no_limit)->was_used);
}

TEST(extent_allocator, what_nobody_holds_cannot_be_given_back) {
    extent_allocator all;
    EXPECT_EQ(all.deallocate(0), std::nullopt);
    const std::uint64_t a = take(all, 64);
    EXPECT_EQ(all.deallocate(a + 16), std::nullopt);
    EXPECT_EQ(all.deallocate(a), 64u);
    EXPECT_EQ(all.deallocate(a), std::nullopt);
    EXPECT_EQ(all.used_bytes(), 0u);
}

}  // namespace
}  // namespace selion::onesided
