// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/sim/engine/virtual_time.hpp"
#include "machine/sim/wires/mesh_layout.hpp"

namespace selion::machine::sim {

/// For how long the links that leave a node, and its core, were held up because there was no room
/// for what they had. Fed in the order of time, but for stores of the core, of which one learns
/// only when it goes.
class mesh_waits {
public:
    explicit mesh_waits(std::uint32_t nodes) : nodes_(nodes) {}

    /// An output to a neighbour is held up from now on, or no more.
    void begin(std::uint32_t link, ticks now) {
        output_waits& output = output_of(link);
        if (output.is_held_up) return;
        output.is_held_up = true;
        output.since = now;
        node_waits& node = nodes_[link / links_per_node];
        if (node.held_up++ == 0) node.since = now;
    }
    void end(std::uint32_t link, ticks now) {
        output_waits& output = output_of(link);
        if (!output.is_held_up) return;
        output.is_held_up = false;
        output.total += now - output.since;
        node_waits& node = nodes_[link / links_per_node];
        if (--node.held_up != 0) return;
        node.outputs += now - node.since;
        if (node.core_may_wait) node.recent.push_back({node.since, now});
    }

    /// The core's link has no room: its next store may have to stand still from now on.
    void core_may_wait(std::uint32_t number) { nodes_[number].core_may_wait = true; }
    /// That store has room. @param ready when it would have gone. @pre ready <= room; where they
    /// differ, `room` is now.
    void core_goes(std::uint32_t number, ticks ready, ticks room);

    ticks of_output(std::uint32_t link, ticks now) const {
        const output_waits& output = nodes_[link / links_per_node].each[link % links_per_node];
        return output.total + (output.is_held_up ? now - output.since : 0);
    }
    ticks of_core(std::uint32_t number) const { return nodes_[number].core; }
    /// Ticks in which the core or an output was held up. @pre the core is not.
    ticks of_any(std::uint32_t number, ticks now) const {
        const node_waits& node = nodes_[number];
        return node.outputs + (node.held_up != 0 ? now - node.since : 0) + node.core - node.both;
    }

private:
    struct output_waits {
        bool is_held_up = false;
        ticks since = 0;
        ticks total = 0;
    };
    struct span_of_time {
        ticks begin;
        ticks end;
    };
    struct node_waits {
        std::array<output_waits, 4> each;
        std::uint32_t held_up = 0;  ///< outputs that are
        ticks since = 0;            ///< that is not 0
        ticks outputs = 0;          ///< time that it was not 0
        ticks core = 0;
        ticks both = 0;  ///< time that both an output and the core were held up
        bool core_may_wait = false;
        std::vector<span_of_time> recent;  ///< of outputs, since the core may wait
    };

    output_waits& output_of(std::uint32_t link) {
        return nodes_[link / links_per_node].each[link % links_per_node];
    }

    std::vector<node_waits> nodes_;
};

}  // namespace selion::machine::sim
