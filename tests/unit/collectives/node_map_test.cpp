// SPDX-License-Identifier: Apache-2.0
#include "collectives/node_map.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace selion::collectives {
namespace {

TEST(node_map, every_number_is_of_one_node) {
    const node_map nodes({0, 3, 4}, 9);
    EXPECT_EQ(nodes.nodes(), 3u);
    constexpr std::array<std::uint32_t, 9> expected{0, 0, 0, 1, 2, 2, 2, 2, 2};
    for (std::uint32_t number = 0; number < 9; ++number) {
        const std::uint32_t node = nodes.node_of(number);
        EXPECT_EQ(node, expected[number]);
        EXPECT_LE(nodes.first_of(node), number);
        EXPECT_GT(nodes.end_of(node), number);
    }
    EXPECT_EQ(nodes.most(), 5u);
    EXPECT_EQ(nodes.size_of(0), 3u);
}

TEST(node_map, marks_say_where_nodes_begin) {
    const std::array<std::uint64_t, 2> marks{std::uint64_t{1} | std::uint64_t{1} << 60,
                                             std::uint64_t{1} << 6};
    const node_map nodes = node_map::of_marks(marks, 80);
    ASSERT_EQ(nodes.nodes(), 3u);
    EXPECT_EQ(nodes.first_of(1), 60u);
    EXPECT_EQ(nodes.first_of(2), 70u);
    EXPECT_EQ(nodes.end_of(2), 80u);
}

TEST(node_map, levels_take_several_nodes_and_several_on_one) {
    EXPECT_FALSE(node_map().has_levels());
    EXPECT_FALSE(node_map({0}, 4).has_levels());
    EXPECT_FALSE(node_map({0, 1, 2}, 3).has_levels());
    EXPECT_TRUE(node_map({0, 1}, 3).has_levels());
}

TEST(node_map, groups_of_one_size_may_end_with_a_smaller_one) {
    EXPECT_EQ(node_map({0, 4}, 8).common_size(), 4u);
    EXPECT_EQ(node_map({0, 3}, 5).common_size(), 3u);
    EXPECT_EQ(node_map({0, 2}, 5).common_size(), 0u);
    EXPECT_EQ(node_map({0, 2, 5}, 7).common_size(), 0u);
}

}  // namespace
}  // namespace selion::collectives
