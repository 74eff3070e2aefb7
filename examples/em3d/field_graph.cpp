// SPDX-License-Identifier: Apache-2.0
#include "field_graph.hpp"

#include "random_stream.hpp"

namespace em3d {

double field_graph::initial_value(field kind, std::uint32_t node) const {
    constexpr std::uint64_t purpose = std::uint64_t{1} << 33;
    const std::uint64_t which = kind == field::electric ? 0 : std::uint64_t{1} << 32;
    return 2 * random_stream(seed_, purpose | which | node).unit() - 1;
}

dependency_rows gather_rows(const field_graph& graph, field kind,
                            std::span<const std::uint32_t> nodes) {
    dependency_rows rows;
    rows.first.reserve(nodes.size() + 1);
    std::vector<dependency> row;
    for (const std::uint32_t node : nodes) {
        graph.dependencies(kind, node, row);
        rows.all.insert(rows.all.end(), row.begin(), row.end());
        rows.first.push_back(rows.all.size());
    }
    return rows;
}

}  // namespace em3d
