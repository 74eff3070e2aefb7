// SPDX-License-Identifier: Apache-2.0
/// Which way a collective goes, and the two that need little: lines on the board, and schedules.
#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/collective_plan.hpp"
#include "collectives/schedule_runner.hpp"
#include "collectives/team_state.hpp"
#include "machine/machine.hpp"
#include "onesided/symmetric_heap.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Message collectives, and bytes of them for each rank, after which all meet: no rank is further
/// ahead of another, so what inboxes hold stays bounded.
constexpr std::uint64_t message_window = 8;
constexpr std::uint64_t message_window_bytes = 16 * 1024 * 1024;

}  // namespace

void team_state::run(const detail::block_call& call) {
    if (call.chosen != nullptr && is_possible(call.chosen->way, members_, call)) {
        return run_as(call, *call.chosen);
    }
    const auto& chosen = chosen_[static_cast<std::size_t>(call.what)];
    if (chosen && is_possible(chosen->way, members_, call)) return run_as(call, *chosen);
    if (const collective_choice* const tuned = tuned_.find(members_, call)) {
        return run_tuned(call, *tuned);
    }
    run_as(call, plan(context_, members_, call));
}

void team_state::choose(collective_kind what, const std::optional<collective_choice>& how) {
    chosen_[static_cast<std::size_t>(what)] = how;
    if (what != barrier) return;
    has_other_barrier_ = how.has_value() || has_tuned_barrier();
    is_unusual_ = has_other_barrier_ || has_arrived_ || is_broken_;
}

void team_state::set_arrived(bool has_arrived) {
    has_arrived_ = has_arrived;
    is_unusual_ = has_other_barrier_ || has_arrived_ || is_broken_;
}

void team_state::set_broken() {
    is_broken_ = true;
    is_unusual_ = true;
}

void team_state::meet() {
    if (!has_other_barrier_) return synchronise(machine::wait_reason::collective);
    run({.what = barrier});
}

/// Not by the runtime itself.
bool team_state::is_chosen(const detail::block_call& call) const {
    return call.chosen != nullptr || chosen_[static_cast<std::size_t>(call.what)];
}

void team_state::run_as(const detail::block_call& call, const collective_choice& how) {
    switch (how.way) {
        case collective_way::board: return run_on_board(call);
        case collective_way::slots: return run_in_slots(call);
        case collective_way::direct: return run_directly(call);
        case collective_way::lines: return run_schedule(call, how.schedule, lines());
        case collective_way::messages: break;
    }
    run_by_messages(call, how.schedule);
}

void team_state::run_schedule(const detail::block_call& call, schedule_request request,
                              message_way& way) {
    request.collective = call.what;
    request.ranks = members_.count();
    // Where the order of a sum is promised, it is made at member 0 and goes on from there.
    request.root = has_root(call.what) && (is_chosen(call) || call.what != reduce) ? call.root : 0;
    const rank_schedule& own = schedules_.of(call, request, members_.own());
    schedule_runner(context_, members_, call, own, way).run();
}

void team_state::run_by_messages(const detail::block_call& call, const schedule_request& request) {
    const bool was_chosen = is_chosen(call);
    if (!was_chosen && call.what == broadcast) {
        return messages_.broadcast({call.target, call.block_bytes()}, call.root);
    }
    if (!was_chosen && call.what == all_reduce) {
        return messages_.all_reduce(call.target, call.count, *call.how);
    }
    ++message_collectives_;
    ++message_window_used_;
    message_bytes_ += call.most_bytes() * members_.count();
    if (message_window_used_ == message_window || message_bytes_ > message_window_bytes) {
        synchronise(machine::wait_reason::collective);
        message_window_used_ = 0;
        message_bytes_ = 0;
    }
    inbox_way way(context_, members_, message_collectives_);
    run_schedule(call, request, way);
}

pair_lines& team_state::lines() {
    if (!make_lines()) {
        context_.host->launcher().end_job(
            context_, context_.heap->shortage_text(members_.count() * sizeof(pair_end)));
    }
    return *lines_;
}

/// By the first collective that goes this way, together. @return false, at all members, when one of
/// them has no room.
bool team_state::make_lines() {
    if (lines_ || lacks_lines_) return !lacks_lines_;
    constexpr pair_lines::introduction no_room{detail::null_address, 0};
    const auto own = pair_lines::make_ends(context_, members_).value_or(no_room);
    std::vector<pair_lines::introduction> all(members_.count());
    run_in_slots(detail::moving(all_gather, &own, all.data(), 1, 0));
    lacks_lines_ =
        std::ranges::find(all, no_room.ends, &pair_lines::introduction::ends) != all.end();
    if (!lacks_lines_) {
        lines_.emplace(context_, members_, all);
    } else if (own.ends != no_room.ends) {
        pair_lines::drop_ends(context_, members_, own);
    }
    return !lacks_lines_;
}

/// As a table says. Nobody has asked for that, so where memory is short there is another way.
void team_state::run_tuned(const detail::block_call& call, const collective_choice& how) {
    if (!follows_schedule(how.way)) return run_as(call, how);
    if (how.way == collective_way::lines && !make_lines()) {
        return run_as(call, plan(context_, members_, call));
    }
    detail::block_call directed = call;
    // The sum of a reduce is still made at member 0.
    if (call.what != reduce) directed.chosen = &how;
    run_as(directed, how);
}

bool team_state::has_tuned_barrier() const {
    const collective_choice* const tuned = tuned_.find(members_, {.what = barrier});
    return tuned != nullptr && tuned->way != collective_way::slots;
}

/// Members whose values this one combines.
std::uint32_t team_state::members_combined(const detail::block_call& call) const {
    if (call.what == scan) return members_.own() + 1;
    return call.what == exscan ? members_.own() : members_.count();
}

bool team_state::gets_result(const detail::block_call& call) const {
    if (call.what == reduce || call.what == gather) return members_.own() == call.root;
    return call.what != exscan || members_.own() != 0;
}

void team_state::run_on_board(const detail::block_call& call) {
    board_.begin_turn();
    const bool one_gives = call.what == broadcast || call.what == scatter;
    if (!one_gives || members_.own() == call.root) show_on_board(call);
    if (gets_result(call)) read_board(call);
    const bool all_read_all = call.what == all_reduce || call.what == all_gather ||
                              call.what == exchange || call.what == reduce_scatter;
    board_.end_turn(all_read_all);
}

void team_state::show_on_board(const detail::block_call& call) {
    const std::byte* const source = call.what == broadcast ? call.target : call.source;
    const std::size_t bytes = shown_bytes(members_, call);
    std::byte* const line = board_.own_line();
    if (bytes != 0) std::memcpy(line, source, bytes);
    board_.show(bytes);
}

void team_state::read_board(const detail::block_call& call) {
    if (call.how != nullptr) return combine_board(call);
    const std::size_t bytes = call.block_bytes();
    const std::size_t start = gives_all(call.what) ? members_.own() * bytes : 0;
    const auto take = [&](std::uint32_t from, std::byte* to) {
        const std::byte* const line = board_.line_of(from, start + bytes);
        if (bytes != 0) std::memcpy(to, line + start, bytes);
    };
    if (call.what == scatter || call.what == broadcast) {
        if (call.what == scatter || members_.own() != call.root) take(call.root, call.target);
        return;
    }
    for (std::uint32_t from = 0; from < members_.count(); ++from) {
        take(from, call.target + from * bytes);
    }
}

void team_state::combine_board(const detail::block_call& call) {
    const std::size_t start = call.what == reduce_scatter ? members_.own() * call.block_bytes() : 0;
    combination_.prepare(members_.count(), call.element_bytes);
    combination_.combine(call.target, {call.count, members_combined(call), is_prefix(call.what)},
                         *call.how, [&](std::uint32_t member, std::size_t from, std::size_t bytes) {
                             const std::size_t place = start + from;
                             return board_.line_of(member, place + bytes) + place;
                         });
    // Nothing to combine: the others' lines still have to be there before the turn can end.
    for (std::uint32_t member = 0; call.count == 0 && member < members_.count(); ++member) {
        board_.line_of(member, 0);
    }
}

}  // namespace selion::collectives
