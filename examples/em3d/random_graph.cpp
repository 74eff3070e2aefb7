// SPDX-License-Identifier: Apache-2.0
#include "random_graph.hpp"

#include "random_stream.hpp"

namespace em3d {

random_graph::random_graph(const random_graph_settings& settings)
    : field_graph(settings.seed), settings_(settings) {}

std::uint32_t random_graph::node_count(field) const {
    return settings_.graph_processors * settings_.nodes;
}

void random_graph::dependencies(field kind, std::uint32_t node,
                                std::vector<dependency>& out) const {
    const std::uint64_t which = kind == field::electric ? 0 : std::uint64_t{1} << 32;
    random_stream random(seed(), which | node);
    const std::uint32_t home = node / settings_.nodes;
    out.resize(1 + random.below(settings_.degree));
    double sum = 0;
    for (dependency& one : out) {
        std::uint64_t processor = home;
        if (random.unit() < settings_.remote) processor += 1 + random.below(settings_.dist_span);
        processor %= settings_.graph_processors;
        one.node =
            static_cast<std::uint32_t>(processor) * settings_.nodes + random.below(settings_.nodes);
        one.coefficient = 1 - random.unit();
        sum += one.coefficient;
    }
    for (dependency& one : out) one.coefficient /= 2 * sum;
}

partition random_graph::divide(std::uint32_t ranks) const {
    return divide_in_blocks(node_count(field::electric), node_count(field::magnetic), ranks);
}

}  // namespace em3d
