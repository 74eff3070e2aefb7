// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/engine/stack_region.hpp"

#include <gtest/gtest.h>

#include "machine/sim/engine/virtual_time.hpp"
#include "selion/error.hpp"

namespace selion::machine::sim {
namespace {

TEST(stack_region, without_a_guard_what_is_written_below_a_stack_is_seen) {
    constexpr std::uint32_t ranks = 40'000;
    const stack_region all(ranks, 16 << 10);
    if (all.guarded() == ranks) GTEST_SKIP() << "all stacks have guards here";
    constexpr std::uint32_t last = ranks - 1;
    EXPECT_FALSE(all.is_overrun(0));
    all.stack(last).front() = std::byte{1};
    EXPECT_FALSE(all.is_overrun(last));
    *(all.stack(last).data() - 1) = std::byte{1};
    EXPECT_TRUE(all.is_overrun(last));
    EXPECT_FALSE(all.is_overrun(last - 1));
}

TEST(stack_region, more_bytes_than_a_number_holds_are_refused) {
    EXPECT_THROW(stack_region(16, std::size_t{1} << 60), error);
    EXPECT_THROW(stack_region(1, SIZE_MAX), error);
}

TEST(virtual_time, ends_where_its_picoseconds_would_not_fit) {
    EXPECT_EQ(tick_length{}.latest(), longest_time);
    const tick_length cycle{2500, 3};
    EXPECT_LE(cycle.to_ps(cycle.latest()), longest_time + 1000);
    EXPECT_GT(cycle.to_ps(cycle.latest()), longest_time - 1000);
    EXPECT_EQ(cycle.to_ps(end_of_time), INT64_MAX);
    EXPECT_EQ(multiple(UINT64_MAX, longest_time), longest_time);
    EXPECT_EQ(later(out_of_reach, out_of_reach), out_of_reach);
}

}  // namespace
}  // namespace selion::machine::sim
