// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include <selion/selion.hpp>

#include "distributed_fields.hpp"
#include "mesh_graph.hpp"
#include "random_graph.hpp"
#include "sequential.hpp"

namespace em3d {
namespace {

/// Runs the graph on a machine; every rank's checksum and rank 0's values must be the reference's.
void expect_equal(const field_graph& graph, std::uint32_t iterations, const std::string& machine) {
    const field_values reference = run_sequentially(graph, iterations);
    const std::uint64_t expected = checksum(reference);
    std::string difference;
    selion::run_options options;
    options.machine = machine;
    const int status = selion::run(0, nullptr, options, [&](selion::world& world) {
        distributed_fields fields(world, graph);
        for (std::uint32_t i = 0; i < iterations; ++i) fields.iterate();
        const bool is_equal = fields.checksum() == expected;
        if (world.rank() == 0) difference = describe_difference(fields.gather(), reference);
        fields.release();
        return is_equal ? 0 : 1;
    });
    RC_ASSERT(difference == std::string());
    RC_ASSERT(status == 0);
}

std::string any_machine() {
    const auto ranks = *rc::gen::inRange(1, 12);
    const auto carriers = *rc::gen::inRange(1, std::min(ranks, 2) + 1);
    return "threads:" + std::to_string(ranks) + "@" + std::to_string(carriers);
}

RC_GTEST_PROP(em3d_parallel, equals_sequential_on_random_graphs, ()) {
    random_graph_settings settings;
    settings.graph_processors = *rc::gen::inRange(1U, 9U);
    settings.nodes = *rc::gen::inRange(1U, 20U);
    settings.degree = *rc::gen::inRange(1U, 10U);
    if (settings.graph_processors > 1) {
        settings.dist_span = *rc::gen::inRange(1U, settings.graph_processors);
        settings.remote = static_cast<double>(*rc::gen::inRange(0, 5)) / 4;
    } else {
        settings.remote = 0;
    }
    settings.seed = *rc::gen::arbitrary<std::uint64_t>();
    expect_equal(random_graph(settings), *rc::gen::inRange(0U, 6U), any_machine());
}

/// A strip of triangles, of any length.
mesh any_strip() {
    mesh made;
    const auto triangles = *rc::gen::inRange(1U, 60U);
    for (std::uint32_t i = 0; i < triangles + 2; ++i) {
        made.vertices.push_back({static_cast<double>(i), i % 2 == 0 ? 0.0 : 1.0, 0});
    }
    for (std::uint32_t i = 0; i < triangles; ++i) {
        for (std::uint32_t corner : {i, i + 1, i + 2}) made.corners.push_back(corner);
        made.first_corner.push_back(made.corners.size());
    }
    return made;
}

RC_GTEST_PROP(em3d_parallel, equals_sequential_on_meshes, ()) {
    const mesh_graph graph(any_strip(), *rc::gen::arbitrary<std::uint64_t>());
    expect_equal(graph, *rc::gen::inRange(0U, 6U), any_machine());
}

}  // namespace
}  // namespace em3d
