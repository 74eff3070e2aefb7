// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls.hpp"
#include "measuring.hpp"

namespace multicore {

/// Broadcasts from one root with a barrier before and after each, or with neither.
/// @error study::bad_argument
measurement read_synchronisation(const nlohmann::ordered_json& params);

}  // namespace multicore
