// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_meeting.hpp"

#include <utility>

#include "selion/detail/team_view.hpp"
#include "selion/signal.hpp"

const selion::collectives::central_meeting selion::detail::no_centre{};

namespace selion::collectives {
namespace {

/// Members that tell each of the others that they have arrived at a split barrier. Of more, such
/// messages would cost more than the waiting that they save.
constexpr std::uint32_t most_to_tell = 32;

}  // namespace

team_meeting::team_meeting(detail::rank_context& context, const team_members& members)
    : context_(context), members_(members), gate_(context, members) {
    if (members_.are_mapped() && (members_.group_size() == 1 || members_.groups() == 1)) {
        // The centre counts groups, or members where there is one group. A member alone on its
        // carrier is its group.
        centre_.word = &block(0).arrivals.word;
        centre_.members = members_.groups() == 1 ? members_.count() : members_.groups();
    }
}

/// The last one to arrive at the centre does not look there again: others are reading the line.
void team_meeting::synchronise(machine::wait_reason reason) {
    if (is_central() && centre_.arrive(context_)) {
        return detail::word_changed(context_, *centre_.word);
    }
    if (!is_central()) arrive();
    wait(reason);
}

void team_meeting::arrive_at_centre() {
    if (centre_.arrive(context_)) detail::word_changed(context_, *centre_.word);
}

void team_meeting::wait_at_centre(machine::wait_reason reason) {
    detail::await_word(context_, {*centre_.word, centre_.goal, reason});
}

void team_meeting::arrive() {
    if (is_central()) return arrive_at_centre();
    ++round_;
    if (members_.are_mapped()) return arrive_in_group();
    context_.transport->quiet(context_);
    if (members_.has_levels()) return arrive_at_node();
    signal_round(0);
}

void team_meeting::wait(machine::wait_reason reason) {
    if (is_central()) {
        wait_at_centre(reason);
    } else if (members_.are_mapped()) {
        wait_in_group(reason);
    } else if (members_.has_levels()) {
        wait_at_node(reason);
    } else {
        wait_for_rounds(reason);
    }
}

bool team_meeting::tell_each() const {
    return !members_.are_mapped() && members_.count() <= most_to_tell;
}

/// Those whose arrivals are counted in memory that they share: else the member alone.
node_map::range team_meeting::own_node() const {
    const std::uint32_t own = members_.own();
    if (!members_.has_levels()) return {own, own + 1};
    return members_.nodes().range_of(members_.nodes().node_of(own));
}

bool team_meeting::is_last_of_node() {
    const node_map::range here = own_node();
    if (here.size() == 1) return true;
    detail::shared_word& arrivals = block(here.first).node_arrivals;
    const std::uint64_t all = told_ * here.size();
    const bool is_last = machine::word_add_quietly(context_, arrivals, 1) + 1 == all;
    if (is_last) detail::word_changed(context_, arrivals);
    return is_last;
}

/// The last one of a node tells all others: also the first of a node takes in what it is sent in
/// calls of its own, and may make none.
void team_meeting::tell_arrival() {
    if (!tell_each()) return arrive();
    context_.transport->quiet(context_);
    ++told_;
    if (!is_last_of_node()) return;
    const node_map::range here = own_node();
    const std::uint32_t others = members_.count() - here.size();
    for (std::uint32_t i = 0; i < others; ++i) {
        signal((here.end + i) % members_.count(), offsetof(team_block, told_arrivals));
    }
}

/// Where carriers have several members, all look at the centre: who leads them may compute.
void team_meeting::await_arrivals(machine::wait_reason reason) {
    if (is_in_groups()) {
        wait_for_groups(reason);
        if (leads_group_) release_group();
        return;
    }
    if (!tell_each()) return wait(reason);
    const node_map::range here = own_node();
    if (here.size() != 1) {
        detail::await_word(context_,
                           {block(here.first).node_arrivals, told_ * here.size(), reason});
    }
    const std::uint64_t others = parties() - 1;
    detail::await_word(context_, {block(members_.own()).told_arrivals, told_ * others, reason});
}

/// A leader whose node is there already lets the next one know before it waits.
void team_meeting::arrive_at_node() {
    if (!gate_.leads()) return gate_.arrive();
    has_signalled_ = gate_.have_arrived();
    if (has_signalled_) signal_round(0);
}

void team_meeting::wait_at_node(machine::wait_reason reason) {
    if (!gate_.leads()) return gate_.await_release(reason);
    gate_.await_arrivals(reason);
    if (!has_signalled_) signal_round(0);
    wait_for_rounds(reason);
    gate_.release();
}

/// Sums take turns: who is ahead adds to the one that nobody reads any more.
std::uint64_t team_meeting::sum_at_end(std::uint64_t own) {
    const std::uint64_t all = ++end_round_ * members_.count();
    detail::shared_word& sum = block(0).end_sums[end_round_ % 2].word;
    detail::shared_word& arrivals = block(0).ends.word;
    machine::word_add_quietly(context_, sum, own);
    const bool is_last = machine::word_add_quietly(context_, arrivals, 1) + 1 == all;
    if (is_last) detail::word_changed(context_, arrivals);
    detail::await_word(context_, {arrivals, all, machine::wait_reason::end});
    const std::uint64_t now = detail::word_load(sum);
    return now - std::exchange(end_sums_[end_round_ % 2], now);
}

/// Meets the members of the own carrier first; the last of them meets the other carriers.
void team_meeting::arrive_in_group() {
    team_block& group = block(members_.group_first());
    const std::uint64_t everybody_here = round_ * members_.group_size();
    leads_group_ =
        machine::word_add_quietly(context_, group.group_arrivals.word, 1) + 1 == everybody_here;
    if (!leads_group_) return;
    detail::shared_word& centre = block(0).arrivals.word;
    const std::uint64_t everybody = round_ * members_.groups();
    const bool is_last = machine::word_add_quietly(context_, centre, 1) + 1 == everybody;
    if (is_last) detail::word_changed(context_, centre);  // only then may there be sleepers
}

void team_meeting::wait_in_group(machine::wait_reason reason) {
    if (leads_group_) {
        wait_for_groups(reason);
        release_group();
        return;
    }
    detail::shared_word& release = block(members_.group_first()).group_release.word;
    detail::await_word(context_, {release, round_, reason});
}

void team_meeting::wait_for_groups(machine::wait_reason reason) {
    detail::await_word(context_, {block(0).arrivals.word, round_ * members_.groups(), reason});
}

void team_meeting::release_group() {
    machine::word_store(context_, block(members_.group_first()).group_release.word, round_);
}

void team_meeting::release_all() {
    machine::word_store(context_, block(0).group_release.word, centre_.goal);
}

void team_meeting::wait_for_release(machine::wait_reason reason) {
    detail::await_word(context_, {block(0).group_release.word, centre_.goal, reason});
}

/// Who takes part in the dissemination: nodes, or members.
std::uint32_t team_meeting::parties() const {
    return members_.has_levels() ? members_.nodes().nodes() : members_.count();
}

/// Dissemination: in round k every party signals the one 2^k behind it, and waits for the one
/// before.
void team_meeting::wait_for_rounds(machine::wait_reason reason) {
    for (std::uint32_t k = 0; (std::uint64_t{1} << k) < parties(); ++k) {
        if (k != 0) signal_round(k);
        detail::await_word(context_, {block(members_.own()).rounds[k].word, round_, reason});
    }
}

void team_meeting::signal_round(std::uint32_t k) {
    if ((std::uint64_t{1} << k) >= parties()) return;
    const auto behind = [&](std::uint32_t party) {
        return static_cast<std::uint32_t>((party + (std::uint64_t{1} << k)) % parties());
    };
    const node_map& nodes = members_.nodes();
    const std::uint32_t peer = members_.has_levels()
                                   ? nodes.first_of(behind(nodes.node_of(members_.own())))
                                   : behind(members_.own());
    // Where many ranks share a processor, the own word is in no cache by now.
    __builtin_prefetch(&block(members_.own()).rounds[k].word);
    signal(peer, offsetof(team_block, rounds) + k * sizeof(lonely_word));
}

void team_meeting::signal(std::uint32_t member, std::size_t word) {
    const std::uint64_t place = members_.address(member, word);
    context_.transport->put(context_, {.target = place,
                                       .source = nullptr,
                                       .bytes = 0,
                                       .signal = place,
                                       .update = signal_add(1),
                                       .is_fleeting = true});
}

}  // namespace selion::collectives
