// SPDX-License-Identifier: Apache-2.0
#include "selion/global_ptr.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace selion {
namespace {

TEST(global_ptr, holds_rank_and_offset_in_64_bits) {
    static_assert(sizeof(global_ptr<char>) == 8);
    static_assert(std::is_trivially_copyable_v<global_ptr<double>>);
    constexpr std::uint32_t last_rank = (1u << 20) - 2;
    constexpr std::uint64_t last_offset = (std::uint64_t{1} << 40) - 8;
    constexpr global_ptr<std::uint64_t> end(last_rank, last_offset);
    EXPECT_EQ(end.rank(), last_rank);
    EXPECT_EQ(end.offset(), last_offset);
    EXPECT_EQ(end.segment(), 1u);
    EXPECT_TRUE(end);
    EXPECT_EQ(global_ptr<std::uint64_t>(end.bits()), end);
}

TEST(global_ptr, null_differs_from_every_place) {
    EXPECT_FALSE(global_ptr<int>());
    EXPECT_FALSE(global_ptr<int>(nullptr));
    EXPECT_TRUE(global_ptr<int>(rank_id(0), 0));
    EXPECT_LT(global_ptr<int>(), global_ptr<int>(rank_id(0), 0));
}

TEST(global_ptr, null_is_zero_and_nothing_that_is_reckoned_from_it_is_a_place) {
    constexpr global_ptr<int> null;
    EXPECT_EQ(null.bits(), 0u);
    EXPECT_EQ(null.segment(), 0u);
    EXPECT_EQ((null + 1000).segment(), 0u);
    EXPECT_EQ(null.on(7).segment(), 0u);
    EXPECT_NE((null - 1).segment(), global_ptr<int>(rank_id(0), 0).segment());
    EXPECT_NE(global_ptr<int>(rank_id(0), 0).on(~0u).segment(), 1u);
}

TEST(global_ptr, moves_by_elements) {
    constexpr global_ptr<double> start(rank_id(3), 800);
    EXPECT_EQ((start + 5).offset(), 840u);
    EXPECT_EQ((start - 100).offset(), 0u);
    EXPECT_EQ((start + 5).rank(), 3u);
    EXPECT_EQ((start + 5) - start, 5);
    EXPECT_EQ(start - (start + 5), -5);
    global_ptr<double> walker = start;
    ++walker;
    walker += 4;
    walker -= 3;
    EXPECT_EQ(walker - start, 2);
    EXPECT_LT(start, walker);
}

TEST(global_ptr, keeps_its_place_on_another_rank) {
    constexpr global_ptr<int> start(rank_id(3), 4000);
    EXPECT_EQ(start.on(700).rank(), 700u);
    EXPECT_EQ(start.on(700).offset(), 4000u);
    EXPECT_EQ(start.on(700).on(3), start);
}

TEST(global_ptr, converts_to_constant_elements_and_not_back) {
    static_assert(std::is_convertible_v<global_ptr<int>, global_ptr<const int>>);
    static_assert(!std::is_convertible_v<global_ptr<const int>, global_ptr<int>>);
    static_assert(!std::is_convertible_v<global_ptr<int>, global_ptr<float>>);
    constexpr global_ptr<int> mutable_one(rank_id(1), 64);
    const global_ptr<const int> constant = mutable_one;
    EXPECT_EQ(constant.bits(), mutable_one.bits());
    EXPECT_EQ(mutable_one.reinterpret<std::byte>().offset(), 64u);
}

TEST(global_ptr, is_mapped_for_nobody_outside_of_a_job) {
    EXPECT_EQ(global_ptr<int>(rank_id(0), 0).local(), nullptr);
    EXPECT_EQ(global_ptr<int>().local(), nullptr);
}

}  // namespace
}  // namespace selion
