// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>

#include "collectives/team_block.hpp"
#include "collectives/team_state.hpp"
#include "machine/call_record.hpp"
#include "selion/detail/rank_context.hpp"
#include "world/world_state.hpp"

namespace selion::detail {

inline collectives::call_signature signature_of(machine::operation what) {
    return {.what = static_cast<std::uint32_t>(what),
            .modes = 0,
            .whole = 0,
            .site = 0,
            .count = 0,
            .element_bytes = 0,
            .type_hash = 0,
            .root = collectives::no_root};
}

/// Where calls are compared: ends the job unless all members of the team call the same. Waits for
/// all of them. @param caller of the thread that calls.
inline void compare_call(const rank_context& caller, collectives::team_state& team,
                         collectives::call_signature mine, std::source_location site) {
    if (!caller.compares_calls) return;
    mine.site = machine::encode_site(site);
    mine.whole = static_cast<std::uint16_t>(machine::composed_call_of(caller));
    team.check(collectives::placed(caller, mine));
}

/// The same of a call of all ranks that has no data to compare.
inline void compare_call(rank_context& caller, machine::operation what, std::source_location site) {
    compare_call(caller, state_of(caller).everybody, signature_of(what), site);
}

}  // namespace selion::detail
