// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <selion/selion.hpp>

#include "harness/arguments.hpp"
#include "harness/rows.hpp"

namespace offload {

/// Measures one point and prints its rows; all ranks call it.
using measurement = std::function<void(selion::world&, const study::row_frame&)>;

/// @error study::bad_argument: a parameter is missing or not legal.
measurement read_transfer(const study::arguments& given);
measurement read_call_overhead(const study::arguments& given);
measurement read_matmul(const study::arguments& given);
measurement read_scaling(const study::arguments& given);
measurement read_broadcast(const study::arguments& given);
measurement read_exchange(const study::arguments& given);
measurement read_training(const study::arguments& given);

}  // namespace offload
