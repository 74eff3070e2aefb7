// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/lines_protocol.hpp"
#include "collectives/ordered_combination.hpp"
#include "collectives/team_members.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// Short things that members show each other. In every turn a member may show one line, and waits
/// for the lines of those whose data it needs, and for nobody else. The protocol: lines.md.
class team_board {
public:
    team_board(detail::rank_context& context, const team_members& members);

    void run(const detail::block_call& call);

private:
    struct memory;

    void show(const detail::block_call& call);
    void read(const detail::block_call& call);
    void combine(const detail::block_call& call);

    void begin_turn() { ++now_.turn; }
    /// @param bytes `line_payload` at most. @return where to write them, before `show`.
    std::byte* own_line();
    void show(std::size_t bytes);
    /// Waits for a member's line of this turn. @return its payload, until the turn ends.
    const std::byte* line_of(std::uint32_t member, std::size_t bytes);
    /// @param all_read_all whether every member has waited for everybody's line.
    void end_turn(bool all_read_all);

    detail::rank_context& context_;
    const team_members& members_;
    team_block& own_;
    ordered_combination combination_;
    lines_protocol::board_turn now_;
    std::array<std::uint64_t, board_turns> shown_ = {};  ///< turns that the own lines are of
    std::vector<std::uint64_t> finished_;  ///< turns that each member has finished, as far as known
};

}  // namespace selion::collectives
