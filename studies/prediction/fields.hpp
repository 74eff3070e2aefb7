// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <selion/world.hpp>

#include "harness/arguments.hpp"
#include "harness/rows.hpp"
#include "random_graph.hpp"

namespace prediction {

/// Reads and checks `params`: a graph for two ranks. @error study::bad_argument
em3d::random_graph_settings read_graph(const nlohmann::ordered_json& params);

/// Collective. @return nanoseconds of one iteration; that of rank 0 counts.
study::spread time_iterations(selion::world& world, const em3d::random_graph& graph);

}  // namespace prediction
