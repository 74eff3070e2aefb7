// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/model_ways.hpp"

#include "collectives/call_shape.hpp"
#include "collectives/collective_plan.hpp"
#include "collectives/team_block.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

bool have_processors(const team_shape& team) { return team.members <= team.processors; }

/// From so many bytes on a block is long: the work on it counts, and not who waits for whom.
constexpr std::size_t long_block = 2048;

/// Schedules over lines are for members that have a processor each, because a wait costs others
/// their turn; and a tree has more than two of them. In scans of long blocks, and of many members,
/// and in sums of longer ones they save most of the work anyway, between fibers also in those of
/// some members; but each member has lines for each, and plays all schedules. What only moves
/// blocks of all members goes better without them.
bool may_go_over_lines(const block_shape& block, const team_shape& team) {
    constexpr std::uint32_t many = 16;
    constexpr std::uint32_t some = 8;
    constexpr std::uint32_t too_many = 256;
    if (team.members > too_many) return false;
    const bool is_long = block.bytes >= long_block;
    const bool are_fibers = team.is_one_process && !have_processors(team);
    const bool is_worth_the_turns = is_long && are_fibers && team.members >= some;
    switch (block.what) {
        case scan: return have_processors(team) || is_long || team.members > many;
        case exscan: return (is_long && team.members >= some) || team.members > many;
        case reduce:
            return team.members > 2 &&
                   (have_processors(team) || is_worth_the_turns || block.bytes >= 4 * long_block);
        case all_reduce: return (have_processors(team) && team.members > 2) || is_worth_the_turns;
        case broadcast:
        case gather:
        case scatter: return have_processors(team) && team.members > 2;
        default: return false;
    }
}

/// Between the root and all others there is a tree, or each has lines of its own with it: a gather
/// lets who gives run ahead.
bool is_worth_a_look(collective_kind what, schedule_algorithm algorithm) {
    using enum schedule_algorithm;
    if (algorithm == flat) return what == gather || what == scatter;
    return (algorithm == k_nomial && what != gather) ||
           (algorithm == binary && what != gather && what != scatter);
}

void add_schedules(std::vector<collective_choice>& all, collective_kind what,
                   const team_shape& team) {
    for (const schedule_algorithm algorithm : algorithms_for(what)) {
        if (!is_worth_a_look(what, algorithm)) continue;
        for (const std::uint32_t radix : {2u, 4u}) {
            if (radix != 2 && (!uses_radix(algorithm) || radix > team.members)) continue;
            all.push_back({collective_way::lines, {.algorithm = algorithm, .radix = radix}});
        }
    }
}

/// What one shows and many take is shown once in a slot, and not read by a call to the kernel for
/// each of them, unless it is very long.
bool may_be_read_in_place(const block_shape& block, const team_shape& team) {
    constexpr std::size_t very_long = 32 * long_block;
    if (block.what == barrier) return false;
    const bool is_shown_to_many = block.what == all_gather && team.members > 2;
    return team.is_one_process || !is_shown_to_many || block.bytes >= very_long;
}

/// A meeting at a counter is quicker where members share processors, and between few.
bool may_go_over_the_board(const block_shape& block, const team_shape& team) {
    return block.what != barrier || (have_processors(team) && team.members > 3);
}

/// Those of members on several nodes. Others than the usual tree may keep the association of sums.
std::vector<collective_choice> ways_between_nodes(const block_shape& block,
                                                  const team_shape& team) {
    using enum schedule_algorithm;
    std::vector<collective_choice> all;
    const auto add = [&](const schedule_request& schedule) {
        all.push_back({collective_way::messages, schedule});
    };
    const bool is_short = block.bytes <= group_result_bytes;
    if (block.what == barrier || block.what == broadcast ||
        (block.what == all_reduce && is_short)) {
        all.push_back({collective_way::nodes, {}});
    }
    const detail::block_call call{.what = block.what, .count = block.bytes};
    const collective_choice usual = usual_messages(call);
    all.push_back(usual);
    const std::uint32_t group = team.nodes->common_size();
    if (block.what == broadcast && group > 1) add({.algorithm = hierarchical, .group = group});
    if (block.what == all_gather) {
        add({.algorithm = k_nomial});
        add({.algorithm = ring});
    }
    if (block.what == exchange) {
        add({.algorithm = usual.schedule.algorithm == bruck ? pairwise : bruck});
    }
    return all;
}

}  // namespace

std::vector<collective_choice> ways_to_predict(const block_shape& block, const team_shape& team) {
    if (team.nodes != nullptr) return ways_between_nodes(block, team);
    std::vector<collective_choice> all{{collective_way::slots, {}}};
    if (may_go_over_the_board(block, team)) all.push_back({collective_way::board, {}});
    if (may_be_read_in_place(block, team)) all.push_back({collective_way::direct, {}});
    // Between processes long messages need room in a heap, which nobody has promised.
    const bool needs_no_room = block.bytes <= line_payload || team.is_one_process;
    if (needs_no_room && may_go_over_lines(block, team)) add_schedules(all, block.what, team);
    return all;
}

}  // namespace selion::collectives
