// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "field_graph.hpp"

namespace em3d {

/// The value of each node.
struct field_values {
    std::vector<double> electric;
    std::vector<double> magnetic;

    std::vector<double>& of(field kind) { return kind == field::electric ? electric : magnetic; }
    const std::vector<double>& of(field kind) const {
        return kind == field::electric ? electric : magnetic;
    }
};

/// The reference: all nodes in one plain loop, without the runtime. A correct parallel run gives
/// these values bit for bit.
field_values run_sequentially(const field_graph& graph, std::uint32_t iterations);

/// What one node adds to the checksum. The checksum of a set of nodes is the sum modulo 2^64, so
/// it depends neither on the order of summation nor on who holds which node. One changed bit always
/// changes it; several changes, as of two values exchanged, cancel with probability 2^-64.
std::uint64_t checksum_term(field kind, std::uint32_t node, double value);

std::uint64_t checksum(const field_values& values);

}  // namespace em3d
