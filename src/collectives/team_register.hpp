// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "collectives/team_members.hpp"
#include "collectives/team_state.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// A team until it is left.
class held_team final : public team_state {
public:
    using team_state::team_state;

private:
    friend class team_register;
    held_team* let_go_before_ = nullptr;
};

/// The teams that one rank has made, beside that of all, and the blocks of those it has left.
///
/// Leaving a team waits for nobody, where all share memory; else for what the rank has sent to be
/// taken. A member that leaves counts in the first member's block; when
/// all have counted there, nobody reads any block of the team again. The first member then tells
/// the others, and each gives its block back when it next makes or leaves a team, or asks how full
/// its heap is. Who finds a heap full in a call that ranks make together has them all do so at
/// once. Messages of the team's collectives that the rank has not taken go with it. Blocks of a
/// team are never used again if a member has died, or where members without shared memory have
/// begun a barrier that they have not left.
///
/// Any thread may let a team go. It is left by the rank's own thread at once where no other works
/// for the rank at the same time; else by the next call that settles, which collectives do not
/// overlap with.
class team_register {
public:
    explicit team_register(detail::rank_context& context) : context_(context) {}

    /// A zeroed block in the rank's segment. @return its global address; nothing: no room.
    std::optional<std::uint64_t> make_block();
    /// @return blocks made so far: with the rank, a name for the team that gets the last.
    std::uint32_t blocks_made() const { return blocks_made_; }
    /// Gives back a block that no team has got.
    void drop_block(std::uint64_t block);
    /// @param entries of all members, whose blocks `make_block` has made. Lives until it is left.
    held_team& add(const std::vector<team_members::entry>& entries, std::uint32_t own);
    /// On any thread.
    void let_go(held_team& team);
    /// Leaves what has been let go, and gives back the blocks of teams that all members have left,
    /// as far as that is known. By one thread of the rank at a time, as collectives are. In
    /// handlers it does nothing.
    void settle();
    /// The same on any thread, if no other works for the rank at the same time.
    void settle_if_alone();
    /// Where a heap is full: the same until all hear of each other that they have left. By ranks
    /// together. @param meet has them meet, and what they have sent completes.
    template <class Meet>
    void settle_together(const Meet& meet) {
        settle();
        for (int step = 0; step < 2; ++step) {  // first members notice, and then the others
            meet();
            settle();
        }
    }
    /// Whether a collective of one of them has ended in an error here: members that are late may
    /// still want what the rank keeps of it.
    bool has_broken() const;

private:
    void leave_all();
    void leave(held_team& team);
    static void signal(const team_members& members, std::uint32_t member, std::size_t offset);
    bool is_over(const held_team& team);
    void drop_messages(const held_team& team);
    bool has_dead(const held_team& team) const;
    static bool may_get_signals(const held_team& team);

    detail::rank_context& context_;
    std::uint32_t blocks_made_ = 0;
    std::atomic<held_team*> let_go_ = nullptr;  ///< to be left; the last one first
    bool is_settling_ = false;
    std::list<held_team> teams_;  ///< nodes stay where they are
    std::list<held_team> left_;
};

}  // namespace selion::collectives
