// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "broadcasts.hpp"

namespace mesh_broadcast {

/// Collective. Prints what each link out of a router carries in one broadcast, and for how long it
/// had no room; from a core to itself: its own link into the router.
/// @pre the machine has a mesh.
void print_links(selion::world& world, const study::row_frame& frame, const broadcast& what);

}  // namespace mesh_broadcast
