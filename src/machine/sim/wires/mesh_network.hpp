// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// A mesh of routers with finite queues that push back, one core each; ranks and cores have the
/// same numbers, row by row. Rules: docs/design/mesh.md.
///
/// A write from a rank is its processor's copy loop: `inject` returns when its last store has gone
/// and stops the rank only where queues may become full. What the DMA engine, an event or a control
/// message sends costs the processor nothing. Reads travel on wires of their own, without queues.
/// @pre rows and columns 1 .. 32767; queue_slots, loop_unroll, store_bytes and transaction_bytes at
/// least 1; messages of less than 2^32 transactions.
std::unique_ptr<network> make_mesh_network(const mesh_model& model);

}  // namespace selion::machine::sim
