// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "collectives/message_inbox.hpp"
#include "collectives/started_collectives.hpp"
#include "collectives/team_register.hpp"
#include "collectives/team_state.hpp"
#include "onesided/symmetric_heap.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::detail {

/// What the floors above the machine keep for one rank; lives as long as the rank's function, and
/// to the job's end where a collective has failed and ranks do not wait for each other.
struct world_state {
    /// @param recorder null when nothing is recorded. @pre `context.tuning` is set.
    world_state(rank_context& context, meters::recorder* recorder);

    onesided::symmetric_heap heap;
    collectives::message_inbox inbox;
    collectives::team_state everybody;
    /// Teams that the rank has made; a handle that outlives the job finds it gone.
    std::shared_ptr<collectives::team_register> teams;
    collectives::started_collectives started;
    /// Teams of survivors that it has made, by the name of the dead.
    std::map<std::uint64_t, std::uint64_t> calls_of_survivors;
    std::vector<const char*> hardware_meters;  ///< names of those that the rank has
};

inline world_state& state_of(rank_context& context) {
    return *static_cast<world_state*>(context.world);
}

}  // namespace selion::detail
