// SPDX-License-Identifier: Apache-2.0
// message: use of deleted function|selected deleted operator
#include <selion/rank.hpp>

void use(selion::rank_id rank, selion::team_rank member) {
#ifdef MUST_FAIL
    static_cast<void>(rank == member);
#else
    static_cast<void>(member == 1);
#endif
}
