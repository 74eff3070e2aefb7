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

}  // namespace selion::machine::sim
