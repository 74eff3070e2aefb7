// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <selion/collective_sync.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>

namespace selion::collectives {
class team_state;
struct central_meeting;
}  // namespace selion::collectives

namespace selion::detail {

/// Where nobody ever meets.
extern SELION_API const collectives::central_meeting no_centre;

/// A team as one of its members sees it.
struct team_view {
    rank_context* context;                     ///< of the rank
    collectives::team_state* state = nullptr;  ///< null: the rank is no member
    std::uint32_t rank = 0;                    ///< the member's number
    std::uint32_t size = 0;
    std::uint32_t size_in_report = 0;                         ///< 0: all ranks
    std::uint32_t type = 0;                                   ///< of what moves as bytes; 0: any
    const collectives::central_meeting* centre = &no_centre;  ///< of plain barriers
    collective_sync sync = {};
    std::int64_t timeout_ns = -1;  ///< of each collective; negative: it waits for ever

    bool is_everybody() const noexcept { return state != nullptr && size_in_report == 0; }
};

/// The team of all ranks.
SELION_API team_view everybody(rank_context& context);
/// @param member a member's number. @return its rank in the world.
SELION_API std::uint32_t world_rank_of(const team_view& team, std::uint32_t member);

}  // namespace selion::detail
