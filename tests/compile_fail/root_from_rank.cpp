// SPDX-License-Identifier: Apache-2.0
// message: use of deleted function .*team_rank|invokes a deleted function
#include <selion/team.hpp>

int use(const selion::team& team, [[maybe_unused]] selion::rank_id rank) {
#ifdef MUST_FAIL
    return team.broadcast(1, rank);
#else
    return team.broadcast(1, team.rank_of(rank).value());
#endif
}
