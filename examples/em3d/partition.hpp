// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh.hpp"

namespace em3d {

/// The two kinds of nodes.
enum class field : std::uint8_t { electric, magnetic };

constexpr field other(field kind) {
    return kind == field::electric ? field::magnetic : field::electric;
}

/// Where a node's value lies: on which rank, and at which position among that rank's nodes of its
/// kind. A rank's nodes lie in ascending order of their numbers.
struct place {
    std::uint32_t rank = 0;
    std::uint32_t index = 0;

    bool operator==(const place&) const = default;
};

/// The place of each node.
struct partition {
    std::vector<place> electric;
    std::vector<place> magnetic;

    std::vector<place>& of(field kind) { return kind == field::electric ? electric : magnetic; }
    const std::vector<place>& of(field kind) const {
        return kind == field::electric ? electric : magnetic;
    }
    /// Numbers of the nodes of one rank, in ascending order.
    std::vector<std::uint32_t> nodes_of(field kind, std::uint32_t rank) const;
    /// Nodes of one kind on the rank that has most of them.
    std::uint32_t largest_part(field kind, std::uint32_t ranks) const;
};

/// Consecutive nodes to each rank, evenly: parts differ by at most one node of each kind.
partition divide_in_blocks(std::uint32_t electric, std::uint32_t magnetic, std::uint32_t ranks);

/// Recursive coordinate bisection (M. J. Berger, S. H. Bokhari: "A partitioning strategy for
/// nonuniform problems on multiprocessors", IEEE Trans. Computers 36, 1987): cuts the nodes across
/// the longest side of the box around them, in proportion to the ranks on each side, until each
/// part has one rank. Nodes of both kinds count alike; parts differ by at most one node in all.
partition divide_by_bisection(std::span<const point> electric, std::span<const point> magnetic,
                              std::uint32_t ranks);

}  // namespace em3d
