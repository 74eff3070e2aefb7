// SPDX-License-Identifier: Apache-2.0
/// What a team says of how it would carry out a collective.
#include <string_view>

#include "collectives/collective_plan.hpp"
#include "collectives/team_state.hpp"
#include "machine/machine.hpp"
#include "selion/detail/late_memory.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Tells `is_possible` that blocks are combined; never called.
constexpr std::size_t number_bytes = sizeof(std::uint64_t);

/// A call as a program might make it, of which nothing but its shape is looked at.
detail::block_call sketch_of(collective_kind what, std::size_t bytes,
                             const detail::reduction& how) {
    detail::block_call call{.what = what, .count = bytes};
    const bool combines = what == reduce || what == all_reduce || what == reduce_scatter ||
                          what == scan || what == exscan;
    if (!combines) return call;
    call.how = &how;
    if (bytes % number_bytes == 0) {
        call.count = bytes / number_bytes;
        call.element_bytes = number_bytes;
    }
    return call;
}

/// Why the built-in rule comes to a way.
std::string_view reason_of(collective_way way, const team_members& members,
                           const detail::block_call& call) {
    switch (way) {
        case collective_way::board:
            return "built-in rule: a short block, shown in a line that all others read";
        case collective_way::slots:
            if (call.what == barrier) return "built-in rule: all members meet at one counter";
            if (!is_possible(collective_way::board, members, call)) {
                return "built-in rule: the block is too long for a line of the board";
            }
            return "built-in rule: members that take turns on a thread, as simulated ones do, wait "
                   "once for all";
        case collective_way::direct: return "built-in rule: a long block, read where it lies";
        case collective_way::lines: break;
        case collective_way::messages: return "built-in rule: the members do not share memory";
        case collective_way::nodes:
            return "built-in rule: members of a node share memory, and one of each sends messages";
    }
    return "built-in rule";
}

/// Why blocks that would be read where they lie are not.
std::string_view reason_against_direct(std::size_t bytes) {
    if (bytes <= detail::most_short_bytes) {
        return "built-in rule: a block that is too short to be read where it lies";
    }
    return "built-in rule: a long block, but the members cannot read each other's memory here";
}

std::string_view reason_of(bool is_measured, bool is_network) {
    if (is_measured) {
        return is_network ? "the quickest of those measured on this network that may be chosen"
                          : "the quickest of those measured on this host that may be chosen";
    }
    return "the quickest by what signals, copies and meetings take on such hosts";
}

}  // namespace

collective_explanation team_state::explain(collective_kind what, std::size_t bytes) {
    const detail::reduction numbers{nullptr, nullptr, number_bytes, 0};
    const detail::block_call call = sketch_of(what, bytes, numbers);
    collective_explanation made{
        .collective = what, .bytes = bytes, .members = members_.count(), .choice = {}, .why = {}};
    const auto& chosen = chosen_[static_cast<std::size_t>(what)];
    if (const tuning_row* const row = tuned_.row_of(what, bytes)) {
        made.known_bytes = row->bytes;
        made.known_members = row->members;
        made.is_measured = !row->is_predicted;
        for (const tuning_candidate& one : row->candidates) {
            const bool may_go = one.choice.way == collective_way::direct
                                    ? direct_.can_go(what, call.block_bytes())
                                    : is_possible(one.choice.way, members_, call);
            if (made.is_measured || may_go) {
                made.candidates.push_back({one.choice, one.ns});
            }
        }
    }
    if (chosen && is_possible(chosen->way, members_, call)) {
        made.choice = *chosen;
        made.reason = choice_reason::program;
        made.why = "the program has chosen it";
    } else if (const collective_choice* const tuned = tuned_.find(call);
               tuned != nullptr && tuned->way == collective_way::lines && lacks_lines_) {
        made.choice = plan(members_, call);
        made.why = "built-in rule: lines, but a member's heap has no room for them";
    } else if (tuned != nullptr) {
        made.choice = *tuned;
        made.reason = made.is_measured ? choice_reason::tuned : choice_reason::model;
        made.why = reason_of(made.is_measured, context_.host->description().kind == "fabric");
    } else {
        made.choice = plan(members_, call);
        made.why = reason_of(made.choice.way, members_, call);
    }
    if (made.choice.way == collective_way::direct && !direct_.can_go(what, call.block_bytes())) {
        made.choice = {collective_way::slots, {}};
        made.reason = choice_reason::rule;
        made.why = reason_against_direct(call.block_bytes());
    }
    return made;
}

}  // namespace selion::collectives
