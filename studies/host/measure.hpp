// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <selion/world.hpp>

#include "harness/rows.hpp"
#include "operation.hpp"

namespace host {

/// Who makes the calls that are timed.
enum class callers {
    first_rank,  ///< rank 0; the others wait for it. Only rank 0 gets the result
    all_ranks,   ///< all at the same time; a block takes as long as its slowest rank
};

/// Nanoseconds per call, by blocks of equally many calls: enough of them that the clock's grain
/// does not show. All ranks of a block start together, after a barrier. The first blocks are left
/// out.
study::spread time_calls(selion::world& world, const repeated_call& call, callers who);

}  // namespace host
