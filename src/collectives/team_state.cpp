// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_state.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "collectives/node_way.hpp"
#include "collectives/schedule_runner.hpp"
#include "machine/machine.hpp"
#include "onesided/symmetric_heap.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Message collectives, and bytes of them for each rank, after which all meet: no rank is further
/// ahead of another, so what inboxes hold stays bounded.
constexpr std::uint64_t window_collectives = 8;
constexpr std::uint64_t window_bytes = 16 * 1024 * 1024;
/// The same of broadcasts over nodes, which bring one message to one member of each.
constexpr std::uint64_t window_broadcasts = 64;

/// Of a member whose heap is full.
constexpr pair_lines::introduction no_room{detail::null_address, 0};

/// Barriers that are a meeting of all and nothing else.
bool is_meeting(const collective_choice& how) {
    return how.way == collective_way::slots || how.way == collective_way::nodes;
}

}  // namespace

bool message_window::is_full_with(std::uint64_t more_bytes, std::uint64_t most_collectives) {
    ++collectives;
    bytes += more_bytes;
    if (collectives < most_collectives && bytes <= window_bytes) return false;
    *this = {};
    return true;
}

team_state::team_state(detail::rank_context& context, team_members members)
    : context_(context),
      members_(std::move(members)),
      meeting_(context, members_),
      tuned_(context.tuning, members_),
      has_other_barrier_(has_tuned_barrier()),
      board_(context_, members_),
      slots_(context_, members_, meeting_),
      direct_(context_, members_, meeting_, slots_),
      nodes_(context_, members_, meeting_),
      messages_(context, members_),
      check_(context_, members_, meeting_, messages_) {
    note_plainness();
}

/// Who has introduced itself in a call that has ended in an error gives back what others may have
/// written to until they left.
team_state::~team_state() {
    if (introduced_) pair_lines::drop_ends(context_, members_.mapped().size(), *introduced_);
}

void team_state::learn_network() {
    members_.find_nodes();
    meeting_.gate().find_place();
    tuned_.look_up(context_.tuning);
    has_other_barrier_ = has_tuned_barrier();
    note_plainness();
}

void team_state::note_plainness() {
    const bool is_unusual = has_other_barrier_ || has_arrived_ || is_broken_;
    // A team of one host whose job has others: barriers complete what goes to those.
    const bool is_central = meeting_.centre().word != nullptr && context_.words_mapped;
    meeting_.centre().plain_for = is_central && !is_unusual ? &context_ : nullptr;
}

void team_state::run(const detail::block_call& call) {
    if (call.chosen != nullptr && is_possible(call.chosen->way, members_, call)) {
        return run_as(call, *call.chosen, true);
    }
    const auto& chosen = chosen_[static_cast<std::size_t>(call.what)];
    if (chosen && is_possible(chosen->way, members_, call)) return run_as(call, *chosen, true);
    if (const collective_choice* const tuned = tuned_.find(call)) {
        return run_tuned(call, *tuned);
    }
    run_as(call, plan(members_, call), false);
}

void team_state::choose(collective_kind what, const std::optional<collective_choice>& how) {
    chosen_[static_cast<std::size_t>(what)] = how;
    if (what != barrier) return;
    const bool is_chosen = how && is_possible(how->way, members_, {.what = barrier});
    has_other_barrier_ = is_chosen ? !is_meeting(*how) : has_tuned_barrier();
    note_plainness();
}

void team_state::set_arrived(bool has_arrived) {
    has_arrived_ = has_arrived;
    note_plainness();
}

void team_state::set_broken() {
    is_broken_ = true;
    note_plainness();
}

void team_state::meet() {
    if (!has_other_barrier_) return meeting_.synchronise(machine::wait_reason::collective);
    run({.what = barrier});
}

void team_state::run_as(const detail::block_call& call, const collective_choice& how,
                        bool is_chosen) {
    switch (how.way) {
        case collective_way::board: return board_.run(call);
        case collective_way::slots: return slots_.run(call, how.part_bytes);
        case collective_way::direct: return direct_.run(call);
        case collective_way::lines: return run_schedule(call, {how.schedule, is_chosen}, lines());
        case collective_way::nodes: return run_by_nodes(call);
        case collective_way::messages: break;
    }
    run_by_messages(call, {how.schedule, is_chosen});
}

/// The tree that `message_tree` has, of which a schedule would be a slower one. Where time is
/// virtual what has been chosen is played as it stands, because studies compare such schedules.
bool team_state::is_own_tree(const schedule_request& wanted) const {
    return !context_.spends_time && wanted.algorithm == schedule_algorithm::k_nomial &&
           wanted.radix == 2 && wanted.segments == 1;
}

const rank_schedule& team_state::schedule_of(const detail::block_call& call,
                                             const wanted_schedule& wanted) {
    // Of blocks that differ in length only the two ends of each know how long it is.
    schedule_request request = call.most == 0 ? wanted.request : usual_schedule(call);
    request.collective = call.what;
    request.ranks = members_.count();
    // Where the order of a sum is promised, it is made at member 0 and goes on from there; of two
    // members either makes it.
    request.root = has_root(call.what) && (wanted.is_chosen || call.what != reduce) ? call.root : 0;
    return schedules_.of(call, request, members_.own());
}

void team_state::run_schedule(const detail::block_call& call, const wanted_schedule& wanted,
                              message_way& way) {
    schedule_runner(context_, members_, call, schedule_of(call, wanted), way).run();
}

/// Who has the result of an all-reduce knows that all others have come to it.
void team_state::run_by_nodes(const detail::block_call& call) {
    ++message_collectives_;
    if (call.what != broadcast) {
        if (call.what == barrier || call.most_bytes() != 0) window_ = {};  // all have met
    } else if (window_.is_full_with(call.block_bytes(), window_broadcasts)) {
        meeting_.synchronise(machine::wait_reason::collective);
    }
    inbox_way across(context_, members_, message_collectives_);
    nodes_.run(call, across);
}

void team_state::run_by_messages(const detail::block_call& call, const wanted_schedule& wanted) {
    const bool is_usual =
        !wanted.is_chosen && wanted.request.algorithm == schedule_algorithm::k_nomial;
    // Its parcels use the members' slots, where members that share memory may still read the last
    // collective's.
    const bool has_own_tree = !members_.are_mapped() && (is_usual || is_own_tree(wanted.request));
    if (has_own_tree && call.what == broadcast) {
        return messages_.broadcast({call.target, call.block_bytes()}, call.root);
    }
    if (has_own_tree && call.what == all_reduce) {
        const std::size_t bytes = call.block_bytes();
        if (bytes != 0 && call.source != call.target) std::memcpy(call.target, call.source, bytes);
        return messages_.all_reduce(call.target, call.count, *call.how);
    }
    ++message_collectives_;
    if (call.what == all_reduce) {
        window_ = {};  // who has the result knows that all have come to it
    } else if (window_.is_full_with(call.most_bytes() * members_.count(), window_collectives)) {
        meeting_.synchronise(machine::wait_reason::collective);
    }
    // The first members of scans have nothing to wait for, and would.
    inbox_way across(context_, members_, message_collectives_,
                     is_prefix(call.what) ? long_data::copied : long_data::lent);
    pair_lines* const within = lines_within_node();
    if (within == nullptr) return run_schedule(call, wanted, across);
    node_way both(*within, across);
    run_schedule(call, wanted, both);
}

std::unique_ptr<started_collective> team_state::prepare(detail::started_call what,
                                                        const placed_call& call,
                                                        collective_sync sync,
                                                        detail::future_state& result) {
    const auto& chosen = chosen_[static_cast<std::size_t>(what.call.what)];
    const bool has_schedule = chosen && follows_schedule(chosen->way);
    const collective_name name{members_.name(), ++started_};
    check_.compare_started(name, call);
    started_collective::plan how{
        .name = name,
        .call = call,
        .is_compared = context_.compares_calls && context_.calls == nullptr,
        .schedule = schedule_of(
            what.call, {has_schedule ? chosen->schedule : usual_schedule(what.call), has_schedule}),
        .own_steps = {},
        .may_begin = last_meeting_,
        .is_over = nullptr};
    const detail::block_call meeting{.what = barrier};
    const std::vector<schedule_step> meet =
        schedule_of(meeting, {usual_schedule(meeting), false}).steps;
    std::vector<schedule_step>& steps = how.schedule.steps;
    if (sync.entry == sync_mode::all) {
        how.own_steps.first = meet.size();
        steps.insert(steps.begin(), meet.begin(), meet.end());
    }
    how.own_steps.end = steps.size();
    // What differs in length may be long at any member, and not all know of it.
    const bool is_known = what.call.most == 0;
    const bool is_full = started_window_.is_full_with(
        is_known ? what.call.most_bytes() * members_.count() : window_bytes + 1,
        window_collectives);
    if (is_full) {
        how.is_over = std::make_shared<bool>(false);
        last_meeting_ = how.is_over;
    }
    if (is_full || sync.exit == sync_mode::all) steps.insert(steps.end(), meet.begin(), meet.end());
    return std::make_unique<started_collective>(context_, members_, context_.started->inbox(),
                                                std::move(what), std::move(how), result);
}

pair_lines& team_state::lines() {
    if (!make_lines()) {
        context_.host->launcher().end_job(
            context_, context_.heap->shortage_text(members_.count() * sizeof(pair_end)));
    }
    return *lines_;
}

/// What this member tells the others of its ends.
pair_lines::introduction team_state::introduce(std::size_t count) {
    introduced_ = pair_lines::make_ends(context_, count);
    return introduced_.value_or(no_room);
}

/// By the first collective that goes this way, together. @return false, at all members, when one of
/// them has no room.
bool team_state::make_lines() {
    if (lines_ || lacks_lines_) return !lacks_lines_;
    const pair_lines::introduction own = introduce(members_.count());
    make_lines_among(members_.mapped(), slots_.all_gather(own));
    return !lacks_lines_;
}

/// Where not all members map each other, by the first collective that goes by a schedule of
/// messages. @return null, at all members of a node, when one of them has no room or it is alone.
pair_lines* team_state::lines_within_node() {
    if (members_.are_mapped() || lacks_lines_) return nullptr;
    if (lines_) return &*lines_;
    const std::vector<std::uint32_t> mapped = members_.mapped();
    lacks_lines_ = mapped.size() < 2;
    if (lacks_lines_) return nullptr;
    const pair_lines::introduction own = introduce(mapped.size());
    inbox_way way(context_, members_, no_collective);
    const std::span bytes = std::as_bytes(std::span(&own, 1));
    for (const std::uint32_t member : mapped) way.send(member, std::span(&bytes, 1), false);
    std::vector<pair_lines::introduction> all(mapped.size());
    for (std::size_t i = 0; i < mapped.size(); ++i) {
        std::memcpy(&all[i], way.receive(mapped[i], sizeof own, nullptr).data(), sizeof own);
    }
    make_lines_among(mapped, all);
    return lines_ ? &*lines_ : nullptr;
}

/// @param mapped members, with the introductions of `all` of them.
void team_state::make_lines_among(const std::vector<std::uint32_t>& mapped,
                                  const std::vector<pair_lines::introduction>& all) {
    lacks_lines_ =
        std::ranges::find(all, no_room.ends, &pair_lines::introduction::ends) != all.end();
    if (!lacks_lines_) {
        lines_.emplace(context_, members_, mapped, all);
    } else if (introduced_) {
        pair_lines::drop_ends(context_, mapped.size(), *introduced_);
    }
    introduced_.reset();  // it is theirs, or nobody's
}

/// As a table says. Nobody has asked for that, so where memory is short there is another way, and
/// the sum of a reduce is still made at member 0.
void team_state::run_tuned(const detail::block_call& call, const collective_choice& how) {
    if (how.way == collective_way::lines && !make_lines()) {
        return run_as(call, plan(members_, call), false);
    }
    run_as(call, how, follows_schedule(how.way) && call.what != reduce);
}

bool team_state::has_tuned_barrier() {
    const collective_choice* const tuned = tuned_.find({.what = barrier});
    return tuned != nullptr && !is_meeting(*tuned);
}

}  // namespace selion::collectives
