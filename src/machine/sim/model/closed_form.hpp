// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/sim/model/machine_model.hpp"

/// What operations take where nothing else is under way, straight from the constants: for
/// `--explain`, and to hold fits and simulated runs against.
namespace selion::machine::sim {

/// Where the time of an operation goes, until its origin knows that it is complete. Where puts are
/// not acknowledged that is when it has taken effect.
struct journey {
    ticks origin = 0;  ///< the origin's processor, in the call
    ticks there = 0;   ///< wires
    ticks target = 0;  ///< the target's processor, or its hardware
    ticks back = 0;    ///< wires
    ticks reply = 0;   ///< the origin's processor, when the answer has come

    ticks total() const { return origin + there + target + back + reply; }
};

/// Between which ranks, and how.
struct route {
    std::uint32_t from = 0;
    std::uint32_t to = 1;
    std::uint64_t bytes = 8;
    bool target_computes = false;  ///< so that messages interrupt it; else it waits in a call
};

journey put_journey(const machine_model& model, const route& way);
journey get_journey(const machine_model& model, const route& way);
/// One that fetches. @param way its bytes do not matter
journey atomic_journey(const machine_model& model, const route& way);
/// A signal without data.
journey signal_journey(const machine_model& model, const route& way);

/// A transfer by the DMA engine of a mesh, from its start until all of it has arrived.
ticks dma_ticks(const machine_model& model, const route& way);

/// Links between two ranks' nodes; 1 where every pair is alike.
std::uint32_t hops(const machine_model& model, std::uint32_t from, std::uint32_t to);

}  // namespace selion::machine::sim
