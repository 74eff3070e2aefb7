// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

#include "collectives/team_members.hpp"
#include "selion/collective_choice.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// How a call is carried out where nobody has chosen: the same at all members.
collective_choice plan(const team_members& members, const detail::block_call& call);

/// The schedule of a call by messages where nobody has chosen; its ranks and root are the call's.
schedule_request usual_schedule(const detail::block_call& call);

/// The same with its way, as `plan` chooses it.
collective_choice usual_messages(const detail::block_call& call);

constexpr bool follows_schedule(collective_way way) {
    return way == collective_way::lines || way == collective_way::messages;
}

/// Whether members run one after the other on a thread.
bool takes_turns(const team_members& members);

/// Whether a way can carry out a call at all.
bool is_possible(collective_way way, const team_members& members, const detail::block_call& call);

/// The schedules that one member has made lately.
class schedule_store {
public:
    /// @param member for whom. Valid until the next call.
    const rank_schedule& of(const detail::block_call& call, const schedule_request& request,
                            std::uint32_t member);

private:
    struct entry {
        schedule_request request;
        std::uint32_t call_root;
        rank_schedule schedule;
    };
    std::deque<entry> kept_;  ///< the latest first
    rank_schedule large_;     ///< not kept
};

}  // namespace selion::collectives
