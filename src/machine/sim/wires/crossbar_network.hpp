// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// All pairs of ranks alike, as in LogGP: a message occupies its origin's port, is on its way, and
/// occupies its target's port. Ports serve in the order in which messages come to them.
std::unique_ptr<network> make_crossbar_network(const crossbar_model& model, std::uint32_t ports);

}  // namespace selion::machine::sim
