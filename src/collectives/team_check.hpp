// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "collectives/call_book.hpp"
#include "collectives/message_inbox.hpp"
#include "collectives/message_tree.hpp"
#include "collectives/team_meeting.hpp"
#include "collectives/team_members.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// "broadcast of 24 bytes from root 0 at solver.cpp:12"; with the place in a script, if one has
/// called.
std::string text_of(const placed_call& call);

/// A call with the place in a script where its rank's own thread makes it; that of a thread that
/// has joined the rank is not known.
placed_call placed(const detail::rank_context& caller, const call_signature& call);

/// The same for a collective that is started. Its messages have no room for a script's place: where
/// a script calls, its line takes the place of the call site.
placed_call placed_start(const detail::rank_context& caller, const call_signature& call);

/// What a message tells of its sender's call. @param mine of the same collective.
placed_call told_by_message(const call_signature& theirs, const placed_call& mine);

/// What a rank has started.
struct start_of_rank {
    std::uint32_t rank;
    placed_call call;
};

/// Ends the job because members have started different collectives under one name.
/// @param members of the team.
[[noreturn]] void end_for_other_start(detail::rank_context& context, const collective_name& name,
                                      std::uint32_t members, const start_of_rank& one,
                                      const start_of_rank& other);

/// Compares what all members of a team are about to do, in the checking build, where
/// SELION_CHECK_CALLS asks for it, and where time is virtual. Ends the job when they disagree.
/// Takes a collective of its own, but no virtual time.
class team_check {
public:
    team_check(detail::rank_context& context, const team_members& members, team_meeting& meeting,
               message_tree& messages)
        : context_(context), members_(members), meeting_(meeting), messages_(messages) {}

    void compare(placed_call mine);
    /// The same for a collective that is started, but only where time is virtual, and there in
    /// every build. Elsewhere started.md tells how they are compared.
    void compare_started(const collective_name& name, const placed_call& mine);

private:
    call_book::entry first(const placed_call& mine);

    detail::rank_context& context_;
    const team_members& members_;
    team_meeting& meeting_;
    message_tree& messages_;
    std::uint64_t calls_ = 0;  ///< compared so far
};

}  // namespace selion::collectives
