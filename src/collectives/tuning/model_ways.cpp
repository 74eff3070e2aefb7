// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/model_ways.hpp"

#include "collectives/call_shape.hpp"
#include "collectives/collective_plan.hpp"
#include "collectives/team_block.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Schedules over lines are for members that have a processor each, because a wait costs others
/// their turn; and a tree has more than two of them. In scans of many members they save most of the
/// work anyway, but each member has lines for each, and plays all schedules. What only moves blocks
/// of all members goes better without them. The meeting at a counter has not been compared with
/// them on many processors.
bool may_go_over_lines(collective_kind what, const team_shape& team) {
    using enum collective_kind;
    constexpr std::uint32_t many = 16;
    constexpr std::uint32_t too_many = 256;
    if (team.members > too_many) return false;
    const bool has_processors = team.members <= team.processors;
    if (is_prefix(what) && team.members > many) return true;
    if (what == scan) return has_processors;
    const bool has_tree = what == broadcast || what == reduce || what == all_reduce;
    return has_tree && has_processors && team.members > 2;
}

void add_schedules(std::vector<collective_choice>& all, collective_kind what,
                   const team_shape& team) {
    using enum schedule_algorithm;
    for (const schedule_algorithm algorithm : algorithms_for(what)) {
        if (algorithm != k_nomial && algorithm != binary) continue;
        for (const std::uint32_t radix : {2u, 4u}) {
            if (radix != 2 && (!uses_radix(algorithm) || radix > team.members)) continue;
            all.push_back({collective_way::lines, {.algorithm = algorithm, .radix = radix}});
        }
    }
}

/// What one shows and many take is shown once in a slot, and not read by a call to the kernel for
/// each of them.
bool may_be_read_in_place(collective_kind what, const team_shape& team) {
    const bool is_shown_to_many = what == collective_kind::all_gather && team.members > 2;
    return what != collective_kind::barrier && (team.is_one_process || !is_shown_to_many);
}

/// Those of members on several nodes. Sums keep their association by the usual tree alone.
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
    if (block.what != collective_kind::barrier) {  // of which slots are the meeting at a counter
        all.push_back({collective_way::board, {}});
    }
    if (may_be_read_in_place(block.what, team)) all.push_back({collective_way::direct, {}});
    // Between processes long messages need room in a heap, which nobody has promised.
    const bool needs_no_room = block.bytes <= line_payload || team.is_one_process;
    if (needs_no_room && may_go_over_lines(block.what, team)) add_schedules(all, block.what, team);
    return all;
}

}  // namespace selion::collectives
