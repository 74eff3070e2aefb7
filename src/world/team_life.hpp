// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "collectives/team_register.hpp"

namespace selion::detail {

/// Ends a membership with its last handle, as long as the job lasts.
inline std::shared_ptr<void> life_of(collectives::team_state& state,
                                     const std::shared_ptr<collectives::team_register>& teams) {
    return {&state, [kept = std::weak_ptr(teams)](collectives::team_state* left) {
                if (const auto still = kept.lock()) still->leave(*left);
            }};
}

}  // namespace selion::detail
