// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "field_graph.hpp"

namespace em3d {

/// What a random graph is made from.
struct random_graph_settings {
    std::uint32_t graph_processors = 8;  ///< processors that the graph is made for, from 1
    std::uint32_t nodes = 500;           ///< nodes of each kind on each of them, from 1
    std::uint32_t degree = 40;           ///< most dependencies of a node, from 1
    double remote = 0.2;                 ///< probability that a dependency is remote, 0 to 1
    std::uint32_t dist_span = 1;         ///< remote nodes lie on the next 1 .. dist_span processors
    std::uint64_t seed = 1;
};

/// The graph that stands in for an object: each node has 1 .. degree dependencies, uniformly; each
/// of them is remote with the given probability and then lies on one of the next `dist_span`
/// processors (in a ring), else on the node's own; there it is any node of the other kind.
///
/// The processors are those of the graph, not the ranks that compute: the same settings give the
/// same graph on any number of ranks. With as many ranks as graph processors each rank gets the
/// nodes of one.
///
/// A random graph has no lengths and areas. The coefficients of a node are random, positive, and
/// add up to one half; the node keeps the other half of its value. So no value ever leaves [-1, 1],
/// however many iterations there are.
///
/// @pre settings in their ranges; graph_processors * nodes < 2^32; remote is 0 or
/// dist_span < graph_processors.
class random_graph : public field_graph {
public:
    explicit random_graph(const random_graph_settings& settings);

    std::uint32_t node_count(field kind) const override;
    void dependencies(field kind, std::uint32_t node, std::vector<dependency>& out) const override;
    double keep() const override { return 0.5; }
    partition divide(std::uint32_t ranks) const override;

private:
    random_graph_settings settings_;
};

}  // namespace em3d
