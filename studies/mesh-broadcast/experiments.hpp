// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "broadcasts.hpp"

namespace mesh_broadcast {

/// The source's chart: ticks and waits of each order. @param has_equal_costs see `broadcast`
measurement read_orders(const study::arguments& given, bool has_equal_costs);
/// By how much mapped is quicker than pass_up.
measurement read_gain(const study::arguments& given);
/// The source's chart with and without unrolling: where are the drops?
measurement read_unrolling(const study::arguments& given);
/// What each link carries, and for how long it had no room.
measurement read_links(const study::arguments& given);
/// One array from the first core to the last.
measurement read_transfer(const study::arguments& given);
/// All-to-all broadcasts by stores, puts and DMA.
measurement read_methods(const study::arguments& given);
/// All-gathers by one algorithm or another.
measurement read_long_data(const study::arguments& given);
/// The same data with those who send and those who receive agreeing on it.
measurement read_collective(const study::arguments& given);

}  // namespace mesh_broadcast
