// SPDX-License-Identifier: Apache-2.0
#include "selion/mesh_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "selion/error.hpp"

namespace selion {
namespace {

using enum schedule_algorithm;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr schedule_algorithm all_orders[] = {pass_up, zero_to_n, schedule_algorithm::random, mapped,
                                             spread};
constexpr mesh_shape meshes[] = {{1, 1}, {1, 2}, {1, 7}, {5, 1}, {2, 2},
                                 {3, 3}, {4, 4}, {3, 5}, {8, 8}, {7, 16}};

std::uint32_t hops(mesh_shape mesh, std::uint32_t from, std::uint32_t to) {
    const auto apart = [](std::uint32_t left, std::uint32_t right) {
        return left > right ? left - right : right - left;
    };
    return apart(from % mesh.columns, to % mesh.columns) +
           apart(from / mesh.columns, to / mesh.columns);
}

TEST(mesh_order, each_reaches_every_other_rank_once) {
    for (const mesh_shape mesh : meshes) {
        const std::uint32_t ranks = mesh.rows * mesh.columns;
        for (const auto order : all_orders) {
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                const std::vector<std::uint32_t> to = mesh_order(order, mesh, rank, 7);
                const std::set<std::uint32_t> different(to.begin(), to.end());
                EXPECT_EQ(to.size(), ranks - 1) << name_of(order);
                EXPECT_EQ(different.size(), to.size()) << name_of(order);
                EXPECT_FALSE(different.contains(rank)) << name_of(order);
                EXPECT_TRUE(different.empty() || *different.rbegin() < ranks) << name_of(order);
            }
        }
    }
}

/// As the source writes them for core 5.
TEST(mesh_order, the_plain_orders_of_core_5) {
    EXPECT_THAT(mesh_order(pass_up, {4, 4}, 5),
                ElementsAre(6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4));
    EXPECT_THAT(mesh_order(zero_to_n, {4, 4}, 5),
                ElementsAre(0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

TEST(mesh_order, mapped_takes_the_nearest_first) {
    for (const mesh_shape mesh : meshes) {
        for (std::uint32_t rank = 0; rank < mesh.rows * mesh.columns; ++rank) {
            const std::vector<std::uint32_t> to = mesh_order(mapped, mesh, rank);
            EXPECT_TRUE(std::ranges::is_sorted(
                to, {}, [&](std::uint32_t other) { return hops(mesh, rank, other); }));
        }
    }
}

/// "Left first on the top row, then up on the second", and on clockwise.
TEST(mesh_order, mapped_begins_in_another_direction_in_each_row) {
    const auto first_four = [](std::uint32_t rank) {
        std::vector<std::uint32_t> to = mesh_order(mapped, {5, 4}, rank);
        to.resize(4);
        return to;
    };
    EXPECT_EQ(mesh_order(mapped, {5, 4}, 1).front(), 0u);     // row 0: west
    EXPECT_THAT(first_four(5), ElementsAre(1, 6, 9, 4));      // row 1: north, and clockwise
    EXPECT_THAT(first_four(9), ElementsAre(10, 13, 8, 5));    // row 2: east
    EXPECT_THAT(first_four(13), ElementsAre(17, 12, 9, 14));  // row 3: south
    EXPECT_EQ(mesh_order(mapped, {5, 4}, 17).front(), 16u);   // row 4: west again
    EXPECT_THAT(mesh_order(mapped, {3, 3}, 4), ElementsAre(1, 5, 7, 3, 2, 8, 6, 0));
}

TEST(mesh_order, random_is_another_one_for_each_rank_and_seed_and_always_the_same) {
    const auto own = [](std::uint32_t rank, std::uint32_t seed) {
        return mesh_order(schedule_algorithm::random, {4, 4}, rank, seed);
    };
    EXPECT_EQ(own(3, 1), own(3, 1));
    EXPECT_NE(own(3, 1), own(3, 2));
    EXPECT_NE(own(3, 1), own(4, 1));
    EXPECT_NE(own(3, 1), mesh_order(zero_to_n, {4, 4}, 3));
    // A seed means the same order whatever the library's shuffle does.
    EXPECT_THAT(own(3, 1), ElementsAreArray(mesh_order(schedule_algorithm::random, {2, 8}, 3, 1)));
}

using link = std::pair<std::uint32_t, std::uint32_t>;

/// Takes a way along the row, then along the column.
void walk(mesh_shape mesh, std::uint32_t from, std::uint32_t to, std::map<link, int>& used) {
    while (from != to) {
        const std::uint32_t column = from % mesh.columns;
        const std::uint32_t wanted = to % mesh.columns;
        std::uint32_t next = from + mesh.columns;
        if (column != wanted) {
            next = column < wanted ? from + 1 : from - 1;
        } else if (to < from) {
            next = from - mesh.columns;
        }
        ++used[{from, next}];
        from = next;
    }
}

/// Most ways over one link while all send to their i-th destinations at the same time, for any i.
int most_on_a_link(schedule_algorithm order, mesh_shape mesh) {
    const std::uint32_t ranks = mesh.rows * mesh.columns;
    int most = 0;
    for (std::uint32_t turn = 0; turn + 1 < ranks; ++turn) {
        std::map<link, int> used;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            walk(mesh, rank, mesh_order(order, mesh, rank)[turn], used);
        }
        for (const auto& [which, times] : used) most = std::max(most, times);
    }
    return most;
}

/// A core stores every other cycle at most: two ways over a link are none too many.
TEST(mesh_order, spread_has_no_more_than_two_ways_over_a_link_at_a_time) {
    EXPECT_LE(most_on_a_link(spread, {2, 2}), 2);
    EXPECT_LE(most_on_a_link(spread, {4, 4}), 2);
    EXPECT_GT(most_on_a_link(mapped, {4, 4}), 2);
    EXPECT_LT(most_on_a_link(spread, {8, 8}), most_on_a_link(mapped, {8, 8}));
    EXPECT_LT(most_on_a_link(spread, {8, 8}), most_on_a_link(pass_up, {8, 8}));
}

TEST(mesh_order, where_ranks_are_on_a_machine) {
    const auto shape_of = [](std::uint32_t ranks, std::uint32_t columns) {
        machine_description machine;
        machine.ranks = ranks;
        machine.mesh_columns = columns;
        const mesh_shape mesh = mesh_of(machine);
        EXPECT_EQ(mesh.ranks, ranks);
        return std::pair(mesh.rows, mesh.columns);
    };
    EXPECT_EQ(shape_of(16, 4), std::pair(4u, 4u));
    EXPECT_EQ(shape_of(14, 4), std::pair(4u, 4u));
    EXPECT_EQ(shape_of(16, 0), std::pair(4u, 4u));
    EXPECT_EQ(shape_of(12, 0), std::pair(3u, 4u));
    EXPECT_EQ(shape_of(7, 0), std::pair(1u, 7u));
    EXPECT_EQ(shape_of(1, 0), std::pair(1u, 1u));
}

TEST(mesh_order, a_last_row_may_be_shorter) {
    for (const auto order : all_orders) {
        for (std::uint32_t rank = 0; rank < 14; ++rank) {
            std::vector<std::uint32_t> to = mesh_order(order, {4, 4, 14}, rank);
            std::ranges::sort(to);
            EXPECT_EQ(to, mesh_order(zero_to_n, {1, 14}, rank)) << name_of(order);
        }
    }
}

std::string refusal(schedule_algorithm order, mesh_shape mesh, std::uint32_t rank) {
    try {
        mesh_order(order, mesh, rank);
    } catch (const error& trouble) {
        return trouble.what();
    }
    return "none";
}

TEST(mesh_order, mistakes_are_sentences_with_what_is_legal) {
    EXPECT_THAT(refusal(pairwise, {4, 4}, 0), HasSubstr("pairwise is no order of a mesh; legal: "
                                                        "pass_up, zero_to_n, random, mapped"));
    EXPECT_THAT(refusal(mapped, {0, 4}, 0), HasSubstr("0 rows and 4 columns is not possible"));
    EXPECT_THAT(refusal(mapped, {1u << 20, 4}, 0), HasSubstr("legal: 1 to 1048576 ranks"));
    EXPECT_THAT(refusal(mapped, {4, 4}, 16), HasSubstr("legal: 0 to 15"));
    EXPECT_THAT(refusal(mapped, {4, 4, 14}, 14), HasSubstr("legal: 0 to 13"));
    EXPECT_THAT(refusal(mapped, {4, 4, 17}, 0), HasSubstr("17 ranks do not fit"));
}

}  // namespace
}  // namespace selion
