// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <source_location>

#include <selion/detail/block_call.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/future.hpp>
#include <selion/reduction.hpp>

namespace selion::detail {

/// A collective that is started, and what it needs until it is over.
struct started_call {
    block_call call = {};
    reduction how = {};                     ///< what `call.how` says, if it combines
    std::shared_ptr<const void> kept = {};  ///< its operation, and memory for values
    std::shared_ptr<void> team_life = {};
};

/// @return fulfilled when this member's part is done.
SELION_API future<> start_block_call(const team_view& team, started_call what,
                                     std::source_location site);

}  // namespace selion::detail
