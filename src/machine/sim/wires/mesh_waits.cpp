// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/mesh_waits.hpp"

#include <algorithm>

namespace selion::machine::sim {

void mesh_waits::core_goes(std::uint32_t number, ticks ready, ticks room) {
    node_waits& node = nodes_[number];
    if (room > ready) {
        node.core += room - ready;
        const auto overlap = [&](ticks begin, ticks end) {
            return std::max<ticks>(std::min(end, room) - std::max(begin, ready), 0);
        };
        for (const span_of_time& past : node.recent) node.both += overlap(past.begin, past.end);
        if (node.held_up != 0) node.both += overlap(node.since, room);
    }
    node.core_may_wait = false;
    node.recent.clear();
}

}  // namespace selion::machine::sim
