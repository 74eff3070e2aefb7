// SPDX-License-Identifier: Apache-2.0
// message: use of deleted function|invokes a deleted function
#include <selion/rank.hpp>

void use(selion::rank_id rank, selion::team_rank member) {
#ifdef MUST_FAIL
    rank = member;
#else
    rank = 1;
#endif
}
