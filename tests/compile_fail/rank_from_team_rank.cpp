// SPDX-License-Identifier: Apache-2.0
// message: no match for .*operator=|no viable overloaded
#include <selion/rank.hpp>

void use(selion::rank_id rank, selion::team_rank member) {
#ifdef MUST_FAIL
    rank = member;
#else
    rank = 1;
#endif
}
