// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/mesh_layout.hpp"
#include "machine/sim/wires/mesh_link_count.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// What meshes of both granularities have in common: by which port a message leaves, ports where
/// one message leaves after the other, reads, and reports.
class mesh_wires : public network {
public:
    ticks inject(engine& host, message& what) final;
    void inject_from_event(engine& host, message& what) final;
    /// Reads have wires of their own, and DMA a port.
    bool keeps_order() const final { return false; }
    std::vector<link_use> links() const final;
    ticks stalls(std::uint32_t rank) const final {
        return count(rank * links_per_node + from_core).waiting;
    }

protected:
    /// Messages that leave by one port, those before the first have gone.
    struct source {
        message* first = nullptr;
        message* last = nullptr;
        ticks free_at = 0;  ///< a slot after the last transaction of those that have gone
    };

    explicit mesh_wires(const mesh_model& model);

    const mesh_model& model() const { return model_; }
    const mesh_layout& layout() const { return layout_; }
    ticks slot() const { return slot_; }
    source& source_of(std::uint32_t port) {
        return sources_[port / links_per_node * sources_per_node +
                        (port % links_per_node - from_core)];
    }
    /// @return whether it is the first one of its port; then it may begin.
    bool line_up(std::uint32_t port, message& what, ticks now);
    /// When the work for the first message of a port begins.
    ticks start_of_work(std::uint32_t port);

private:
    /// A message leaves by a port of its origin. @return when its last transaction does;
    /// `end_of_time` if that is not known yet. Then its sender, if it has one, is resumed.
    virtual ticks begin(engine& host, message& what, mesh_link which) = 0;
    virtual const mesh_link_count& count(std::uint32_t link) const = 0;
    void read(engine& host, message& what);

    static constexpr std::uint32_t sources_per_node = into_core - from_core;

    mesh_model model_;
    mesh_layout layout_;
    ticks slot_;
    std::vector<source> sources_;
    std::vector<ticks> last_reply_;  ///< when each core has the last one of its answers so far
};

}  // namespace selion::machine::sim
