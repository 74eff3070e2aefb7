// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "random_graph.hpp"
#include "sequential.hpp"

namespace em3d {
namespace {

const random_graph_settings settings{
    .graph_processors = 8, .nodes = 500, .degree = 40, .remote = 0.25, .dist_span = 2, .seed = 3};

template <class Visit>
void for_each_row(const random_graph& graph, const Visit& visit) {
    std::vector<dependency> row;
    for (const field kind : {field::electric, field::magnetic}) {
        for (std::uint32_t node = 0; node < graph.node_count(kind); ++node) {
            graph.dependencies(kind, node, row);
            visit(node, row);
        }
    }
}

TEST(em3d_random_graph, degrees_are_uniform_from_one_to_the_degree) {
    std::map<std::size_t, int> rows_of_degree;
    for_each_row(random_graph(settings),
                 [&](std::uint32_t, const auto& row) { ++rows_of_degree[row.size()]; });
    EXPECT_EQ(rows_of_degree.begin()->first, 1U);
    EXPECT_EQ(rows_of_degree.rbegin()->first, 40U);
    // 8000 nodes on 40 degrees: 200 each, give or take 14; the bounds are five times that.
    for (const auto& [degree, rows] : rows_of_degree) {
        EXPECT_GT(rows, 130) << degree;
        EXPECT_LT(rows, 270) << degree;
    }
}

TEST(em3d_random_graph, remote_nodes_lie_on_the_next_processors) {
    std::map<std::uint32_t, double> at_distance;
    double all = 0;
    for_each_row(random_graph(settings), [&](std::uint32_t node, const auto& row) {
        for (const dependency& one : row) {
            ++at_distance[(one.node / 500 + 8 - node / 500) % 8];
            ++all;
        }
    });
    ASSERT_EQ(at_distance.size(), 3U);
    EXPECT_NEAR(at_distance[0] / all, 0.75, 0.01);
    EXPECT_NEAR(at_distance[1] / all, 0.125, 0.01);
    EXPECT_NEAR(at_distance[2] / all, 0.125, 0.01);
}

TEST(em3d_random_graph, nothing_or_all_may_be_remote) {
    for (const double remote : {0.0, 1.0}) {
        random_graph_settings extreme = settings;
        extreme.remote = remote;
        for_each_row(random_graph(extreme), [&](std::uint32_t node, const auto& row) {
            for (const dependency& one : row) EXPECT_EQ(one.node / 500 != node / 500, remote == 1);
        });
    }
}

TEST(em3d_random_graph, coefficients_are_weights) {
    for_each_row(random_graph(settings), [&](std::uint32_t, const auto& row) {
        double sum = 0;
        for (const dependency& one : row) {
            EXPECT_GT(one.coefficient, 0);
            sum += one.coefficient;
        }
        EXPECT_NEAR(sum, 0.5, 1e-14);
    });
}

TEST(em3d_random_graph, is_a_function_of_its_settings) {
    std::vector<std::vector<dependency>> first;
    std::vector<std::vector<dependency>> second;
    for_each_row(random_graph(settings), [&](auto, const auto& row) { first.push_back(row); });
    for_each_row(random_graph(settings), [&](auto, const auto& row) { second.push_back(row); });
    EXPECT_EQ(first, second);
    random_graph_settings changed = settings;
    changed.seed = 4;
    second.clear();
    for_each_row(random_graph(changed), [&](auto, const auto& row) { second.push_back(row); });
    EXPECT_NE(first, second);
}

TEST(em3d_random_graph, values_never_leave_their_range) {
    random_graph_settings tiny = settings;
    tiny.nodes = 3;
    const field_values values = run_sequentially(random_graph(tiny), 5000);
    for (const double value : values.electric) {
        EXPECT_LT(value, 1);
        EXPECT_GT(value, -1);
        EXPECT_NE(value, 0);
    }
}

TEST(em3d_random_graph, one_node_of_one_processor) {
    const random_graph graph({.graph_processors = 1, .nodes = 1, .degree = 1, .remote = 0});
    for_each_row(graph, [](std::uint32_t, const auto& row) {
        ASSERT_EQ(row.size(), 1U);
        EXPECT_EQ(row[0].node, 0U);
        EXPECT_DOUBLE_EQ(row[0].coefficient, 0.5);
    });
}

TEST(em3d_checksum, tells_values_and_places_apart) {
    const field_values values{{1, 2}, {3}};
    EXPECT_EQ(checksum(values), checksum(values));
    EXPECT_NE(checksum(values), checksum({{2, 1}, {3}}));
    EXPECT_NE(checksum(values), checksum({{1, 3}, {2}}));
    EXPECT_NE(checksum({{0.0}, {}}), checksum({{-0.0}, {}}));
    EXPECT_NE(checksum({{1.0}, {}}), checksum({{}, {1.0}}));
}

}  // namespace
}  // namespace em3d
