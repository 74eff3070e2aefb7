// SPDX-License-Identifier: Apache-2.0
#include "selion/charge.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace selion {
namespace {

TEST(charge, amounts_that_are_too_large_are_the_largest) {
    static_assert(nanoseconds(18'446'744'073'709'552).picoseconds == INT64_MAX);
    static_assert(nanoseconds(INT64_MIN).picoseconds == INT64_MIN);
    static_assert((nanoseconds(1'000'000'000'000) * 1'000'000).picoseconds == INT64_MAX);
    static_assert((nanoseconds(1) * UINT64_MAX).picoseconds == INT64_MAX);
    static_assert((flops(UINT64_MAX) * 2).flops == UINT64_MAX);
    const work most = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, INT64_MAX};
    const work sum = most + most;
    EXPECT_EQ(sum.flops, UINT64_MAX);
    EXPECT_EQ(sum.int_ops, UINT64_MAX);
    EXPECT_EQ(sum.loads, UINT64_MAX);
    EXPECT_EQ(sum.stores, UINT64_MAX);
    EXPECT_EQ(sum.copied_bytes, UINT64_MAX);
    EXPECT_EQ(sum.picoseconds, INT64_MAX);
}

TEST(charge, others_are_what_they_are) {
    static_assert(nanoseconds(7).picoseconds == 7000);
    static_assert(nanoseconds(-7).picoseconds == -7000);
    static_assert((nanoseconds(-7) * 3).picoseconds == -21'000);
    static_assert((nanoseconds(7) + nanoseconds(-9)).picoseconds == -2000);
    static_assert((nanoseconds(7) * 0).picoseconds == 0);
    const work sum = flops(2) * 3 + loads(4) + stores(5) + int_ops(6) + copied(7);
    EXPECT_EQ(sum.flops, 6u);
    EXPECT_EQ(sum.loads, 4u);
    EXPECT_EQ(sum.stores, 5u);
    EXPECT_EQ(sum.int_ops, 6u);
    EXPECT_EQ(sum.copied_bytes, 7u);
}

}  // namespace
}  // namespace selion
