// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "setting.hpp"

/// Figures 6 and 7: single reads and writes of 32-bit variables, by the state of their block.
namespace software_cache {

/// @error study::bad_argument
measurement read_latency(const nlohmann::ordered_json& params, bool is_write);

}  // namespace software_cache
