// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <selion/selion.hpp>

#include "field_graph.hpp"
#include "partition.hpp"
#include "sequential.hpp"

namespace em3d {

/// How the graph fell onto the ranks, summed over all of them.
struct division_summary {
    std::uint64_t dependencies = 0;
    std::uint64_t cut = 0;  ///< dependencies between nodes of different ranks
};

/// The fields of a graph, spread over all ranks. Each rank owns the nodes that the partition gives
/// it and holds their values in symmetric memory: one array for each kind of node. A value of
/// another rank is read through a global pointer, one `get` for each dependency and iteration.
/// Nobody writes to another rank's memory.
class distributed_fields {
public:
    /// Collective. Rank 0 divides the graph; each rank builds the part that it owns.
    /// @pre `graph` is the same on all ranks and outlives the fields, as `all` does.
    distributed_fields(selion::world& all, const field_graph& graph);
    distributed_fields(const distributed_fields&) = delete;
    distributed_fields& operator=(const distributed_fields&) = delete;

    /// Collective: one iteration; new electric values, barrier, new magnetic values, barrier.
    void iterate();

    /// Values that this rank has got from other ranks so far.
    std::uint64_t remote_reads() const { return remote_reads_; }

    /// Collective; equal on all ranks.
    division_summary summarise() const;
    /// Collective; equal on all ranks, and the same as `checksum` of the reference's values.
    std::uint64_t checksum() const;
    /// The calling rank reads all values. @pre no rank iterates meanwhile.
    field_values gather() const;

    /// Collective: gives the memory back.
    void release();

private:
    /// A dependency, resolved: the value lies here, or on another rank.
    struct link {
        double coefficient;
        const double* here;  ///< null when the value lies on another rank
        selion::global_ptr<const double> there;
    };
    /// The rank's nodes of one kind.
    struct part {
        std::vector<std::uint32_t> nodes;
        selion::global_ptr<double> values;  ///< own part of the symmetric array
        std::vector<std::size_t> first_link;
        std::vector<link> links;
    };

    part& of(field kind) { return kind == field::electric ? electric_ : magnetic_; }
    const part& of(field kind) const { return kind == field::electric ? electric_ : magnetic_; }

    void place_nodes(field kind);
    void resolve_links(field kind);
    void update(part& nodes);

    selion::world* all_;
    const field_graph* graph_;
    partition division_;
    part electric_;
    part magnetic_;
    std::uint64_t remote_reads_ = 0;
};

/// In words: the first node whose value differs in any bit, and how many there are; empty when the
/// values are equal.
std::string describe_difference(const field_values& values, const field_values& reference);

}  // namespace em3d
