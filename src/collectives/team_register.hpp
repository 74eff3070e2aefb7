// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "collectives/team_members.hpp"
#include "collectives/team_state.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// The teams that one rank has made, beside that of all, and the blocks of those it has left.
///
/// Leaving a team waits for nobody. A member that leaves counts in the first member's block; when
/// all have counted there, nobody reads any block of the team again. The first member then tells
/// the others, and each gives its block back when it next makes or leaves a team, or asks how full
/// its heap is. Messages of the team's collectives that the rank has not taken go with it.
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
    team_state& add(const std::vector<team_members::entry>& entries, std::uint32_t own);
    void leave(team_state& team);
    /// Gives back the blocks of teams that all members have left, as far as that is known.
    void collect();

private:
    void signal(const team_members& members, std::uint32_t member, std::size_t offset);
    bool is_over(const team_state& team);
    void drop_messages(const team_state& team);
    bool has_dead(const team_state& team) const;

    detail::rank_context& context_;
    std::uint32_t blocks_made_ = 0;
    std::list<team_state> teams_;  ///< nodes stay where they are
    std::list<team_state> left_;
};

}  // namespace selion::collectives
