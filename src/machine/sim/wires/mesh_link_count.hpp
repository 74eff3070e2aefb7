// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/sim/engine/virtual_time.hpp"

namespace selion::machine::sim {

/// What one link of a mesh has carried.
struct mesh_link_count {
    std::uint64_t transactions = 0;
    std::uint64_t bytes = 0;
    ticks waiting = 0;  ///< of all transactions, before they took it
};

}  // namespace selion::machine::sim
