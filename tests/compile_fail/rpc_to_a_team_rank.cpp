// SPDX-License-Identifier: Apache-2.0
// message: no matching function for call to
#include <selion/rpc.hpp>

void use([[maybe_unused]] selion::team_rank member, [[maybe_unused]] selion::rank_id rank) {
#ifdef MUST_FAIL
    selion::rpc_oneway(member, [] {});
#else
    selion::rpc_oneway(rank, [] {});
#endif
}
