// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "setting.hpp"

/// The source's EM3D: electric and magnetic fields on a random graph of which each processor has a
/// part, in node records as large as the source's, with its loops and its order of steps.
namespace software_cache {

struct field_graph {
    std::size_t nodes = 500;               ///< of each kind and processor
    std::uint32_t most_dependencies = 40;  ///< of a node; uniform from 1
    std::uint32_t remote = 0;  ///< of so many dependencies, those on the neighbour's nodes
    std::uint32_t iterations = 10;
    std::uint64_t seed = 0;
};

struct field_run {
    read_counts own;                 ///< of the calling rank, with the making of the graph
    selion::access_counts accesses;  ///< the same, in full
    std::uint64_t dependencies = 0;  ///< of the calling rank's nodes
    double seconds = 0;              ///< of the iterations, until all have ended
    double first_seconds = 0;        ///< of the first one
    double list_seconds = 0;  ///< of making the lists before, when processor 0 has all values
    double checksum = 0;      ///< of all values
};

/// Collective: makes the graph, and iterates.
field_run run_fields(selion::world& world, const field_graph& graph, const setting& how);

}  // namespace software_cache
