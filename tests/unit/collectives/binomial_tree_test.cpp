// SPDX-License-Identifier: Apache-2.0
#include "collectives/binomial_tree.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace selion::collectives::binomial_tree {
namespace {

TEST(binomial_tree, every_place_but_the_first_is_the_child_of_its_parent_once) {
    for (std::uint32_t places = 1; places <= 130; ++places) {
        std::vector<std::uint32_t> parents(places, 0);
        for (std::uint32_t place = 0; place < places; ++place) {
            const std::uint32_t children = child_levels(place, places);
            for (std::uint32_t level = 0; level < children; ++level) {
                const std::uint32_t child = place + (1u << level);
                ASSERT_LT(child, places);
                EXPECT_EQ(parent_level(child), level);
                ++parents[child];
            }
        }
        EXPECT_EQ(parents[0], 0u);
        for (std::uint32_t place = 1; place < places; ++place) EXPECT_EQ(parents[place], 1u);
    }
}

TEST(binomial_tree, reaches_the_largest_job) {
    constexpr std::uint32_t places = (1u << 20) - 1;
    static_assert(child_levels(0, places) == 20);
    static_assert(child_levels(places - 1, places) == 0);
    static_assert(child_levels(0, 1) == 0);
    static_assert(parent_level(1u << 19) == 19);
    SUCCEED();
}

}  // namespace
}  // namespace selion::collectives::binomial_tree
