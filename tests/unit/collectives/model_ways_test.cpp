// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/model_ways.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Whether the model looks at a way, by its name.
bool looks_at(const char* way, const block_shape& block, const team_shape& team) {
    const std::vector<collective_choice> all = ways_to_predict(block, team);
    return std::ranges::count(all, std::string(way),
                              [](const collective_choice& one) { return text_of(one); }) == 1;
}

TEST(model_ways, a_barrier_goes_over_the_board_where_many_have_a_processor_each) {
    EXPECT_TRUE(looks_at("board", {barrier, 0}, {.members = 4, .processors = 4}));
    EXPECT_FALSE(looks_at("board", {barrier, 0}, {.members = 3, .processors = 3}));
    EXPECT_FALSE(looks_at("board", {barrier, 0}, {.members = 16, .processors = 8}));
    EXPECT_TRUE(looks_at("slots", {barrier, 0}, {.members = 16, .processors = 16}));
}

TEST(model_ways, roots_have_lines_with_everybody_where_all_have_a_processor) {
    for (const collective_kind what : {gather, scatter}) {
        EXPECT_TRUE(looks_at("lines:flat", {what, 64}, {.members = 8, .processors = 8}));
        EXPECT_FALSE(looks_at("lines:flat", {what, 64}, {.members = 8, .processors = 2}));
    }
    EXPECT_TRUE(looks_at("lines:k_nomial:4", {scatter, 64}, {.members = 8, .processors = 8}));
    EXPECT_FALSE(looks_at("lines:k_nomial:2", {gather, 64}, {.members = 8, .processors = 8}));
}

/// Between processes long messages need room that nobody has promised.
TEST(model_ways, long_scans_and_sums_go_along_trees_also_where_processors_are_shared) {
    const team_shape fibers{.members = 8, .processors = 2, .is_one_process = true};
    const team_shape processes{.members = 8, .processors = 2};
    for (const collective_kind what : {scan, exscan}) {
        EXPECT_TRUE(looks_at("lines:binary", {what, 1 << 20}, fibers));
        EXPECT_FALSE(looks_at("lines:binary", {what, 1 << 20}, processes));
        EXPECT_FALSE(looks_at("lines:binary", {what, 64}, fibers));
    }
    EXPECT_TRUE(looks_at("lines:k_nomial:2", {reduce, 1 << 20}, fibers));
    EXPECT_FALSE(looks_at("lines:k_nomial:2", {reduce, 1 << 10}, fibers));
}

TEST(model_ways, processes_read_each_others_blocks_in_place_if_they_are_very_long) {
    const team_shape processes{.members = 4, .processors = 4};
    EXPECT_TRUE(looks_at("direct", {all_gather, 1 << 20}, processes));
    EXPECT_FALSE(looks_at("direct", {all_gather, 1 << 12}, processes));
    EXPECT_TRUE(looks_at("direct", {exchange, 1 << 12}, processes));
}

}  // namespace
}  // namespace selion::collectives
