// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// The wires that a machine file describes, with one end for each rank.
std::unique_ptr<network> make_network(const machine_model& model);

}  // namespace selion::machine::sim
