// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "selion/detail/word_access.hpp"
#include "selion/expect.hpp"
#include "selion/signal.hpp"

namespace selion::collectives {
namespace {

/// "broadcast of 24 bytes from root 0 at solver.cpp:12".
std::string text_of(const call_signature& call) {
    const auto what = static_cast<machine::operation>(call.what);
    std::string text(name_of(what));
    if (what == machine::operation::broadcast) {
        text += fmt::format(" of {} bytes", call.count);
    } else if (call.element_bytes != 0) {
        text += fmt::format(" of {} element{} of {} bytes", call.count, call.count == 1 ? "" : "s",
                            call.element_bytes);
    }
    const bool gives = what == machine::operation::broadcast || what == machine::operation::scatter;
    if (call.root != no_root) text += fmt::format(" {} root {}", gives ? "from" : "at", call.root);
    return text + " at " + machine::site_text(call.site);
}

}  // namespace

team_state::team_state(detail::rank_context& context, team_members members)
    : context_(context),
      members_(std::move(members)),
      own_(block(members_.own())),
      messages_(context, members_),
      tuned_(context.tuning, members_.count()),
      has_other_barrier_(has_tuned_barrier()),
      is_unusual_(has_other_barrier_),
      board_(context_, members_),
      lender_(context_, members_) {
    if (members_.are_mapped() && (members_.group_size() == 1 || members_.groups() == 1)) {
        // The centre counts groups, or members where there is one group. A member alone on its
        // carrier is its group.
        centre_ = &block(0).arrivals.word;
        centre_members_ = members_.groups() == 1 ? members_.count() : members_.groups();
    }
}

std::byte* team_state::own_slot() { return own_.slots[slot_turn_ % slot_sets]; }

const std::byte* team_state::slot_of(std::uint32_t rank) const {
    return block(rank).slots[slot_turn_ % slot_sets];
}

void team_state::synchronise(machine::wait_reason reason) {
    if (centre_ != nullptr && arrive_at_centre()) return release_centre();
    if (centre_ == nullptr) arrive();
    wait(reason);
}

void team_state::arrive() {
    if (centre_ != nullptr) {
        if (arrive_at_centre()) release_centre();
        return;
    }
    ++round_;
    if (members_.are_mapped()) return arrive_in_group();
    context_.transport->quiet(context_);
    signal_round(0);
}

void team_state::wait(machine::wait_reason reason) {
    if (centre_ != nullptr) {
        wait_at_centre(reason);
    } else if (members_.are_mapped()) {
        wait_in_group(reason);
    } else {
        wait_for_rounds(reason);
    }
}

/// Meets the members of the own carrier first; the last of them meets the other carriers.
void team_state::arrive_in_group() {
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

void team_state::wait_in_group(machine::wait_reason reason) {
    if (leads_group_) {
        wait_for_groups(reason);
        release_group();
        return;
    }
    detail::shared_word& release = block(members_.group_first()).group_release.word;
    detail::await_word(context_, {release, round_, reason});
}

void team_state::wait_for_groups(machine::wait_reason reason) {
    detail::await_word(context_, {block(0).arrivals.word, round_ * members_.groups(), reason});
}

void team_state::release_group() {
    machine::word_store(context_, block(members_.group_first()).group_release.word, round_);
}

/// Dissemination: in round k every member signals the one 2^k behind it, and waits for the one
/// before.
void team_state::wait_for_rounds(machine::wait_reason reason) {
    for (std::uint32_t k = 0; (std::uint64_t{1} << k) < members_.count(); ++k) {
        if (k != 0) signal_round(k);
        detail::await_word(context_, {own_.rounds[k].word, round_, reason});
    }
}

void team_state::signal_round(std::uint32_t k) {
    if ((std::uint64_t{1} << k) >= members_.count()) return;
    const auto peer =
        static_cast<std::uint32_t>((members_.own() + (std::uint64_t{1} << k)) % members_.count());
    const std::uint64_t signal =
        members_.address(peer, offsetof(team_block, rounds) + k * sizeof(lonely_word));
    // Where many ranks share a processor, the own word is in no cache by now.
    __builtin_prefetch(&own_.rounds[k].word);
    context_.transport->put(context_, {signal, nullptr, 0, signal, signal_add(1)});
}

void team_state::write_slot(std::size_t start, std::span<const std::byte> data) {
    if (data.empty()) return;
    machine::announce_write(context_, own_slot() + start, data.size());
    std::memcpy(own_slot() + start, data.data(), data.size());
}

void team_state::read_slot(std::uint32_t rank, std::size_t start, std::span<std::byte> data) {
    if (data.empty()) return;
    machine::announce_read(context_, slot_of(rank) + start, data.size());
    std::memcpy(data.data(), slot_of(rank) + start, data.size());
}

/// What rank 0 is about to do.
call_signature team_state::first_signature(const call_signature& mine) {
    const std::size_t set = ++check_turn_ % slot_sets;
    if (!members_.are_mapped()) {
        call_signature first = mine;
        messages_.broadcast(std::as_writable_bytes(std::span(&first, 1)), 0);
        return first;
    }
    own_.signatures[set] = mine;
    synchronise(machine::wait_reason::collective);
    return block(0).signatures[set];
}

void team_state::check(const call_signature& mine) {
    const call_signature first = first_signature(mine);
    if (mine.agrees_with(first)) return;
    const bool is_same_call = mine.what == first.what;
    context_.host->launcher().end_job(
        context_,
        fmt::format("the ranks disagree about collective #{}{}: rank {} calls {}, rank "
                    "{} calls {}{}",
                    is_everybody() ? machine::look_at(context_.call->instance) : check_turn_,
                    is_everybody() ? "" : fmt::format(" of a team of {}", members_.count()),
                    context_.rank, text_of(mine), members_.world_rank(0), text_of(first),
                    is_same_call && mine.type_hash != first.type_hash
                        ? "; types or operations differ"
                        : ""));
}

}  // namespace selion::collectives
