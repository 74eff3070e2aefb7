// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partition.hpp"

namespace em3d {

/// That a node reads the value of node `node` of the other field, and with which factor.
struct dependency {
    std::uint32_t node = 0;
    double coefficient = 0;

    bool operator==(const dependency&) const = default;
};

/// Electric and magnetic nodes; a node depends on nodes of the other field only. One iteration
/// gives each electric node, then each magnetic node, the value
///
///     keep() * value + sum over its dependencies of coefficient * value of the other node
///
/// where the sum is taken in the order of the dependencies, beginning with the first product
/// added to keep() * value. Everything is a function of node numbers that do not depend on the
/// ranks that compute, so each rank can build the part of the graph that it owns.
class field_graph {
public:
    virtual ~field_graph() = default;

    virtual std::uint32_t node_count(field kind) const = 0;
    /// Replaces `out` by the dependencies of a node.
    virtual void dependencies(field kind, std::uint32_t node,
                              std::vector<dependency>& out) const = 0;
    /// Share of its own value that a node keeps; 1 where nothing is lost.
    virtual double keep() const = 0;
    /// Who computes which node. The same on every rank that asks.
    virtual partition divide(std::uint32_t ranks) const = 0;

    /// Value before the first iteration: noise in [-1, 1).
    double initial_value(field kind, std::uint32_t node) const;

protected:
    explicit field_graph(std::uint64_t seed) : seed_(seed) {}
    std::uint64_t seed() const { return seed_; }

private:
    std::uint64_t seed_;
};

/// The dependencies of some nodes, one node after another.
struct dependency_rows {
    std::vector<std::size_t> first = {0};
    std::vector<dependency> all;

    std::span<const dependency> row(std::size_t number) const {
        return std::span(all).subspan(first[number], first[number + 1] - first[number]);
    }
};

dependency_rows gather_rows(const field_graph& graph, field kind,
                            std::span<const std::uint32_t> nodes);

}  // namespace em3d
