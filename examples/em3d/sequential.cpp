// SPDX-License-Identifier: Apache-2.0
#include "sequential.hpp"

#include <bit>
#include <cstddef>
#include <numeric>

#include "random_stream.hpp"

namespace em3d {

namespace {

dependency_rows all_rows(const field_graph& graph, field kind) {
    std::vector<std::uint32_t> nodes(graph.node_count(kind));
    std::iota(nodes.begin(), nodes.end(), 0U);
    return gather_rows(graph, kind, nodes);
}

void update(std::vector<double>& values, const dependency_rows& rows,
            const std::vector<double>& read, double keep) {
    for (std::size_t node = 0; node < values.size(); ++node) {
        double sum = keep * values[node];
        for (const dependency& one : rows.row(node)) sum += one.coefficient * read[one.node];
        values[node] = sum;
    }
}

}  // namespace

field_values run_sequentially(const field_graph& graph, std::uint32_t iterations) {
    field_values values;
    for (const field kind : {field::electric, field::magnetic}) {
        for (std::uint32_t node = 0; node < graph.node_count(kind); ++node) {
            values.of(kind).push_back(graph.initial_value(kind, node));
        }
    }
    const dependency_rows electric = all_rows(graph, field::electric);
    const dependency_rows magnetic = all_rows(graph, field::magnetic);
    for (std::uint32_t i = 0; i < iterations; ++i) {
        update(values.electric, electric, values.magnetic, graph.keep());
        update(values.magnetic, magnetic, values.electric, graph.keep());
    }
    return values;
}

std::uint64_t checksum_term(field kind, std::uint32_t node, double value) {
    const std::uint64_t which = kind == field::electric ? 0 : std::uint64_t{1} << 32;
    return scatter(std::bit_cast<std::uint64_t>(value) + scatter(which | node));
}

std::uint64_t checksum(const field_values& values) {
    std::uint64_t sum = 0;
    for (const field kind : {field::electric, field::magnetic}) {
        const std::vector<double>& all = values.of(kind);
        for (std::size_t node = 0; node < all.size(); ++node) {
            sum += checksum_term(kind, static_cast<std::uint32_t>(node), all[node]);
        }
    }
    return sum;
}

}  // namespace em3d
