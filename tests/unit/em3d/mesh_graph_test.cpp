// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "mesh_file.hpp"
#include "mesh_graph.hpp"
#include "sample_meshes.hpp"
#include "sequential.hpp"

namespace em3d {
namespace {

std::vector<dependency> row(const field_graph& graph, field kind, std::uint32_t node) {
    std::vector<dependency> out;
    graph.dependencies(kind, node, out);
    return out;
}

/// Edges counted without the graph: pairs of neighbouring corners.
std::size_t count_edges(const mesh& object) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::size_t f = 0; f < object.face_count(); ++f) {
        const auto face = object.face(f);
        for (std::size_t i = 0; i < face.size(); ++i) {
            edges.insert(std::minmax(face[i], face[(i + 1) % face.size()]));
        }
    }
    return edges.size();
}

std::ptrdiff_t euler_number(const mesh& object) {
    return static_cast<std::ptrdiff_t>(object.vertices.size() + object.face_count()) -
           static_cast<std::ptrdiff_t>(count_edges(object));
}

/// What every graph of a mesh obeys.
void expect_consistent(const mesh& object) {
    const mesh_graph graph(object, 1);
    ASSERT_EQ(graph.node_count(field::electric), count_edges(object));
    ASSERT_EQ(graph.node_count(field::magnetic), object.face_count());
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> from_edges;
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> from_faces;
    double edge_areas = 0;
    for (std::uint32_t edge = 0; edge < graph.node_count(field::electric); ++edge) {
        for (const dependency& one : row(graph, field::electric, edge)) {
            from_edges.insert({edge, one.node});
        }
        edge_areas += graph.edge_area(edge);
    }
    double face_areas = 0;
    for (std::uint32_t face = 0; face < graph.node_count(field::magnetic); ++face) {
        for (const dependency& one : row(graph, field::magnetic, face)) {
            from_faces.insert({one.node, face});
        }
        face_areas += graph.area_of_face(face);
    }
    EXPECT_EQ(from_edges, from_faces);
    EXPECT_EQ(from_edges.size(), object.corners.size());
    EXPECT_NEAR(edge_areas, 2 * face_areas, 1e-12 * face_areas);
}

TEST(em3d_mesh_graph, cube_has_the_nodes_and_factors_of_the_formulas) {
    const mesh object = cube();
    EXPECT_EQ(euler_number(object), 2);
    expect_consistent(object);
    const mesh_graph graph(object, 1);
    // L = 2, A = 4, W = 2 * (2 * 4 / 4) = 4; each row of the bound: 4 edges * 2 faces * 4 / 4 / 4.
    EXPECT_DOUBLE_EQ(graph.step(), 0.9 * 2 / std::sqrt(2.0));
    for (std::uint32_t edge = 0; edge < 12; ++edge) {
        const auto faces = row(graph, field::electric, edge);
        ASSERT_EQ(faces.size(), 2U);
        EXPECT_LT(faces[0].node, faces[1].node);
        EXPECT_DOUBLE_EQ(std::abs(faces[0].coefficient), graph.step() * 2 / 4);
        // Neighbours on a closed surface walk their common edge in opposite directions.
        EXPECT_EQ(faces[0].coefficient, -faces[1].coefficient);
    }
    for (std::uint32_t face = 0; face < 6; ++face) {
        for (const dependency& one : row(graph, field::magnetic, face)) {
            EXPECT_DOUBLE_EQ(std::abs(one.coefficient), graph.step() * 2 / 4);
        }
    }
    // Face 0 begins 3 2: against the edge from 2 to 3.
    const auto first = row(graph, field::magnetic, 0)[0];
    EXPECT_GT(first.coefficient, 0);
}

TEST(em3d_mesh_graph, borders_and_edges_of_three_faces_are_fine) {
    // Three triangles share the edge 0 1.
    const mesh fan{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, -1, -1}},
                   {0, 1, 2, 0, 1, 3, 1, 0, 4},
                   {0, 3, 6, 9}};
    expect_consistent(fan);
    const mesh_graph graph(fan, 1);
    EXPECT_EQ(graph.node_count(field::electric), 7U);
    EXPECT_EQ(row(graph, field::electric, 0).size(), 3U);
    EXPECT_EQ(row(graph, field::electric, 1).size(), 1U);
}

/// Energy that leapfrog keeps: e W e + h(before) A h(after), over two.
double energy(const mesh_graph& graph, const field_values& before, const field_values& after) {
    double sum = 0;
    for (std::uint32_t edge = 0; edge < graph.node_count(field::electric); ++edge) {
        sum += graph.edge_area(edge) * after.electric[edge] * after.electric[edge];
    }
    for (std::uint32_t face = 0; face < graph.node_count(field::magnetic); ++face) {
        sum += graph.area_of_face(face) * before.magnetic[face] * after.magnetic[face];
    }
    return sum / 2;
}

TEST(em3d_mesh_graph, the_step_is_stable_and_keeps_the_energy) {
    for (const mesh& object : {cube(), sheet(9, 4)}) {
        const mesh_graph graph(object, 7);
        const double start = energy(graph, run_sequentially(graph, 0), run_sequentially(graph, 1));
        const double end =
            energy(graph, run_sequentially(graph, 2999), run_sequentially(graph, 3000));
        ASSERT_GT(start, 0);
        EXPECT_NEAR(end, start, 1e-10 * start);
    }
}

TEST(em3d_mesh_graph, airplane) {
    const auto file = pyvista_mesh("airplane.ply");
    if (!file) GTEST_SKIP() << "pyvista is not installed in .venv";
    const mesh object = read_mesh(*file);
    EXPECT_EQ(object.vertices.size(), 1335U);
    EXPECT_EQ(object.face_count(), 2452U);
    // Several sheets with borders: not a closed surface, whose number would be 2.
    EXPECT_EQ(count_edges(object), 3789U);
    EXPECT_EQ(euler_number(object), 1335 - 3789 + 2452);
    expect_consistent(object);
}

TEST(em3d_mesh_graph, binary_sphere) {
    const auto file = pyvista_mesh("sphere.ply");
    if (!file) GTEST_SKIP() << "pyvista is not installed in .venv";
    const mesh object = read_mesh(*file);
    EXPECT_EQ(euler_number(object), 2);
    expect_consistent(object);
}

}  // namespace
}  // namespace em3d
