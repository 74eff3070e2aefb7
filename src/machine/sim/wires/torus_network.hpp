// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// A torus of any number of dimensions, or a mesh, whose messages go along the first dimension,
/// then along the second, and so on, the shorter way round (up where both are equal). A message
/// takes each link of its way for its bytes, as soon as its head is there and those that came
/// before have gone (virtual cut-through); queues have no limit. A port at each end is taken for
/// `gap` by each message. An undisturbed message needs entry + hops × hop + bytes × per_byte.
///
/// @param endpoints nodes that are used, the first ones; at most the product of the sides.
/// @param node_of_rank where each rank is; empty: rank n is on node n. Ranks of a node share its
/// ports, and what one sends to another takes `entry` and the bytes' time, but no link.
/// @cost an event for each hop.
std::unique_ptr<network> make_torus_network(const torus_model& model, std::uint32_t endpoints,
                                            std::vector<std::uint32_t> node_of_rank = {});

}  // namespace selion::machine::sim
