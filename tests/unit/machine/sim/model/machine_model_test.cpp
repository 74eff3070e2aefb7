// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/model/machine_model.hpp"

#include <gtest/gtest.h>

namespace selion::machine::sim {
namespace {

TEST(rate, of_much_does_not_overflow) {
    EXPECT_EQ(rate::from_ticks(0.5).of(7), 3);
    EXPECT_EQ(rate::from_ticks(0.5).of(std::uint64_t{1} << 40), ticks{1} << 39);
    EXPECT_EQ(rate::from_ticks(1000).of(std::uint64_t{1} << 62), longest_time);
    EXPECT_EQ(rate::from_ticks(1e6).of(UINT64_MAX), longest_time);
}

}  // namespace
}  // namespace selion::machine::sim
