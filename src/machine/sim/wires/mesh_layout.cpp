// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/mesh_layout.hpp"

#include <fmt/format.h>

namespace selion::machine::sim {

std::string mesh_layout::name(std::uint32_t link) const {
    static constexpr const char* names[links_per_node] = {
        "east", "south", "west", "north", "from core", "from DMA", "from events", "into core"};
    const std::uint32_t node = link / links_per_node;
    return fmt::format("({},{}) {}", node / columns_, node % columns_,
                       names[link % links_per_node]);
}

std::uint32_t places_of_link(const mesh_model& model) {
    const ticks slot = slot_of(model);
    const ticks longest = std::max({model.hop, model.entry, ticks{1}});
    const ticks on_the_way = (longest + slot - 1) / slot;
    return static_cast<std::uint32_t>(std::min<ticks>(on_the_way + model.queue_slots, 1U << 30));
}

}  // namespace selion::machine::sim
