// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/arguments.hpp"
#include "measuring.hpp"

namespace multicore {

/// The time that a kernel spends in collectives. @error study::bad_argument
measurement read_application(const nlohmann::ordered_json& params);

}  // namespace multicore
