// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// The mesh of `mesh_network.hpp` for large runs: whole messages take each link of their way for
/// their transactions, as soon as their heads are there and those that came before have gone. A
/// message that nobody disturbs arrives at the same tick as there. Rules: docs/design/mesh.md.
/// @pre as there. @cost an event for each router on the way and one for the arrival.
std::unique_ptr<network> make_mesh_messages(const mesh_model& model);

}  // namespace selion::machine::sim
