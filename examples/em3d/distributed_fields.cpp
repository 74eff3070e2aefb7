// SPDX-License-Identifier: Apache-2.0
#include "distributed_fields.hpp"

#include <bit>
#include <cstdio>
#include <span>

namespace em3d {

distributed_fields::distributed_fields(selion::world& all, const field_graph& graph)
    : all_(&all), graph_(&graph) {
    if (all.rank() == 0) {
        division_ = graph.divide(all.size());
    } else {
        division_.electric.resize(graph.node_count(field::electric));
        division_.magnetic.resize(graph.node_count(field::magnetic));
    }
    all.broadcast(std::span(division_.electric), 0);
    all.broadcast(std::span(division_.magnetic), 0);
    place_nodes(field::electric);
    place_nodes(field::magnetic);
    resolve_links(field::electric);
    resolve_links(field::magnetic);
    all.barrier();  // nobody reads a value before its owner has set it
}

void distributed_fields::place_nodes(field kind) {
    part& own = of(kind);
    own.nodes = division_.nodes_of(kind, all_->rank());
    own.values = selion::allocate<double>(*all_, division_.largest_part(kind, all_->size()));
    double* const values = own.values.local();
    for (std::size_t i = 0; i < own.nodes.size(); ++i) {
        values[i] = graph_->initial_value(kind, own.nodes[i]);
    }
}

void distributed_fields::resolve_links(field kind) {
    part& own = of(kind);
    const part& read = of(other(kind));
    const dependency_rows rows = gather_rows(*graph_, kind, own.nodes);
    own.first_link = rows.first;
    own.links.reserve(rows.all.size());
    for (const dependency& one : rows.all) {
        const place where = division_.of(other(kind))[one.node];
        const bool is_here = where.rank == all_->rank();
        own.links.push_back({one.coefficient, is_here ? read.values.local() + where.index : nullptr,
                             read.values.on(where.rank) + where.index});
    }
}

void distributed_fields::update(part& nodes) {
    double* const values = nodes.values.local();
    const double keep = graph_->keep();
    std::uint64_t reads = 0;
    for (std::size_t i = 0; i < nodes.nodes.size(); ++i) {
        double sum = keep * values[i];
        for (std::size_t l = nodes.first_link[i]; l < nodes.first_link[i + 1]; ++l) {
            const link& one = nodes.links[l];
            if (one.here != nullptr) {
                sum += one.coefficient * *one.here;
            } else {
                sum += one.coefficient * selion::get(one.there);
                ++reads;
            }
        }
        values[i] = sum;
        const std::uint64_t links = nodes.first_link[i + 1] - nodes.first_link[i];
        selion::charge(selion::flops(1 + 2 * links) + selion::loads(1 + 2 * links) +
                       selion::stores(1));
    }
    remote_reads_ += reads;
}

void distributed_fields::iterate() {
    update(electric_);
    all_->barrier();
    update(magnetic_);
    all_->barrier();
}

division_summary distributed_fields::summarise() const {
    division_summary own;
    for (const part* nodes : {&electric_, &magnetic_}) {
        own.dependencies += nodes->links.size();
        for (const link& one : nodes->links) own.cut += one.here == nullptr ? 1 : 0;
    }
    return {all_->all_reduce(own.dependencies, selion::plus),
            all_->all_reduce(own.cut, selion::plus)};
}

std::uint64_t distributed_fields::checksum() const {
    std::uint64_t sum = 0;
    for (const field kind : {field::electric, field::magnetic}) {
        const part& own = of(kind);
        for (std::size_t i = 0; i < own.nodes.size(); ++i) {
            sum += checksum_term(kind, own.nodes[i], own.values.local()[i]);
        }
    }
    return all_->all_reduce(sum, selion::plus);
}

field_values distributed_fields::gather() const {
    field_values values;
    for (const field kind : {field::electric, field::magnetic}) {
        const std::vector<place>& places = division_.of(kind);
        std::vector<std::vector<double>> by_rank(all_->size());
        for (const place& where : places) by_rank[where.rank].push_back(0);
        for (std::uint32_t rank = 0; rank < all_->size(); ++rank) {
            selion::get(std::span(by_rank[rank]), of(kind).values.on(rank));
        }
        for (const place& where : places) {
            values.of(kind).push_back(by_rank[where.rank][where.index]);
        }
    }
    return values;
}

void distributed_fields::release() {
    selion::deallocate(*all_, electric_.values);
    selion::deallocate(*all_, magnetic_.values);
}

std::string describe_difference(const field_values& values, const field_values& reference) {
    std::size_t different = 0;
    std::string first;
    for (const field kind : {field::electric, field::magnetic}) {
        for (std::size_t node = 0; node < reference.of(kind).size(); ++node) {
            const double value = values.of(kind)[node];
            const double expected = reference.of(kind)[node];
            if (std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(expected)) {
                continue;
            }
            if (different++ > 0) continue;
            char text[128];
            std::snprintf(text, sizeof text, "%s node %zu is %.17g (%a), the reference %.17g (%a)",
                          kind == field::electric ? "electric" : "magnetic", node, value, value,
                          expected, expected);
            first = text;
        }
    }
    if (different == 0) return {};
    return std::to_string(different) + " nodes differ; " + first;
}

}  // namespace em3d
