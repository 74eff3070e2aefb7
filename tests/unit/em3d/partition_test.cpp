// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "mesh_file.hpp"
#include "mesh_graph.hpp"
#include "partition.hpp"
#include "random_graph.hpp"
#include "sample_meshes.hpp"

namespace em3d {
namespace {

/// Every node has one place, and the places of a rank are 0, 1, 2, … in the order of the nodes.
void expect_places(const partition& division, std::uint32_t ranks) {
    for (const field kind : {field::electric, field::magnetic}) {
        std::size_t found = 0;
        std::uint32_t largest = 0;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const std::vector<std::uint32_t> nodes = division.nodes_of(kind, rank);
            for (std::uint32_t i = 0; i < nodes.size(); ++i) {
                ASSERT_EQ(division.of(kind)[nodes[i]], (place{rank, i}));
            }
            found += nodes.size();
            largest = std::max(largest, static_cast<std::uint32_t>(nodes.size()));
        }
        EXPECT_EQ(found, division.of(kind).size());
        EXPECT_EQ(largest, division.largest_part(kind, ranks));
    }
}

/// Most and fewest nodes of both kinds on a rank.
std::pair<std::size_t, std::size_t> extremes(const partition& division, std::uint32_t ranks) {
    std::vector<std::size_t> sizes(ranks, 0);
    for (const place& where : division.electric) ++sizes[where.rank];
    for (const place& where : division.magnetic) ++sizes[where.rank];
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    return {*least, *most};
}

std::size_t count_cut(const field_graph& graph, const partition& division) {
    std::size_t cut = 0;
    std::vector<dependency> row;
    for (const field kind : {field::electric, field::magnetic}) {
        for (std::uint32_t node = 0; node < graph.node_count(kind); ++node) {
            graph.dependencies(kind, node, row);
            for (const dependency& one : row) {
                cut += division.of(kind)[node].rank != division.of(other(kind))[one.node].rank;
            }
        }
    }
    return cut;
}

TEST(em3d_partition, bisection_is_even_for_any_number_of_ranks) {
    const mesh_graph graph(sheet(11, 7), 1);
    for (const std::uint32_t ranks : {1U, 2U, 3U, 5U, 7U, 8U, 64U, 100U}) {
        const partition division = graph.divide(ranks);
        expect_places(division, ranks);
        const auto [least, most] = extremes(division, ranks);
        EXPECT_LE(most - least, 1U) << ranks;
    }
}

TEST(em3d_partition, more_ranks_than_nodes) {
    const mesh_graph graph(cube(), 1);
    const partition division = graph.divide(64);
    expect_places(division, 64);
    EXPECT_EQ(extremes(division, 64), (std::pair<std::size_t, std::size_t>{0, 1}));
    expect_places(divide_in_blocks(3, 1, 8), 8);
}

TEST(em3d_partition, bisection_cuts_across_the_longest_side) {
    for (const mesh& object : {sheet(40, 4), sheet(4, 40)}) {
        const mesh_graph graph(object, 1);
        // One cut across four squares separates a handful of edges and faces; one along the sheet
        // would separate ten times as many.
        const std::size_t cut = count_cut(graph, graph.divide(2));
        EXPECT_LE(cut, 24U);
        EXPECT_GT(cut, 0U);
    }
}

TEST(em3d_partition, equal_positions_are_divided_all_the_same) {
    const std::vector<point> same(10, point{1, 2, 3});
    const partition division = divide_by_bisection(same, same, 7);
    expect_places(division, 7);
    const auto [least, most] = extremes(division, 7);
    EXPECT_LE(most - least, 1U);
}

TEST(em3d_partition, blocks_give_each_rank_one_graph_processor) {
    const random_graph graph({.graph_processors = 4, .nodes = 25});
    const partition division = graph.divide(4);
    expect_places(division, 4);
    for (std::uint32_t node = 0; node < 100; ++node) {
        EXPECT_EQ(division.electric[node], (place{node / 25, node % 25}));
    }
    const auto [least, most] = extremes(graph.divide(7), 7);
    EXPECT_LE(most - least, 2U);
}

TEST(em3d_partition, airplane_is_cut_in_few_places) {
    const auto file = pyvista_mesh("airplane.ply");
    if (!file) GTEST_SKIP() << "pyvista is not installed in .venv";
    const mesh_graph graph(read_mesh(*file), 1);
    const std::size_t dependencies = 2 * std::size_t{3} * 2452;
    for (const std::uint32_t ranks : {2U, 4U, 16U}) {
        const partition division = graph.divide(ranks);
        expect_places(division, ranks);
        const partition naive = divide_in_blocks(3789, 2452, ranks);
        EXPECT_LT(count_cut(graph, division), count_cut(graph, naive)) << ranks;
        EXPECT_LT(count_cut(graph, division), dependencies * 15 / 100) << ranks;
    }
}

}  // namespace
}  // namespace em3d
