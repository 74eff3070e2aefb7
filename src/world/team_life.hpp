// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "collectives/team_register.hpp"
#include "selion/detail/team_view.hpp"

namespace selion::detail {

/// Ends a membership with its last handle, as long as the job lasts.
inline std::shared_ptr<void> life_of(collectives::held_team& state,
                                     const std::shared_ptr<collectives::team_register>& teams) {
    return {&state, [kept = std::weak_ptr(teams)](collectives::held_team* left) {
                if (const auto still = kept.lock()) still->let_go(*left);
            }};
}

/// How a member sees a team that has been made.
inline team_view view_of(rank_context& context, collectives::held_team& made) {
    const std::uint32_t size = made.members().count();
    return {.context = &context,
            .state = &made,
            .rank = made.members().own(),
            .size = size,
            .size_in_report = size,
            .centre = &made.meeting().centre()};
}

}  // namespace selion::detail
