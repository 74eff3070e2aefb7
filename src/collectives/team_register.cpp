// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_register.hpp"

#include <algorithm>
#include <utility>

#include "collectives/message_inbox.hpp"
#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/symmetric_heap.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/error.hpp"
#include "selion/signal.hpp"

namespace selion::collectives {

std::optional<std::uint64_t> team_register::make_block() {
    settle();
    const auto offset = context_.heap->allocate_for_runtime(sizeof(team_block));
    if (!offset) return std::nullopt;
    ++blocks_made_;
    return detail::global_address(context_.rank, *offset);
}

void team_register::drop_block(std::uint64_t block) {
    context_.heap->deallocate_for_runtime(block & detail::offset_mask, sizeof(team_block));
}

held_team& team_register::add(const std::vector<team_members::entry>& entries, std::uint32_t own) {
    return teams_.emplace_back(context_, team_members(context_, entries, own));
}

void team_register::let_go(held_team& team) {
    team.let_go_before_ = let_go_.load(std::memory_order_relaxed);
    // release: what its last user has left of it [teams.let_go]
    while (!let_go_.compare_exchange_weak(team.let_go_before_, &team, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
    settle_if_alone();
}

void team_register::settle_if_alone() {
    const bool is_alone = context_.host->thread_level() != thread_level::multiple;
    if (is_alone && detail::current_context == &context_) settle();
}

void team_register::settle() {
    const detail::rank_context& caller = *detail::current_context;
    // Who serves messages meanwhile may let others go, and so come here again.
    if (caller.ranks == 0 || caller.own.in_handler || is_settling_) return;
    struct turn {
        bool& is_taken;
        ~turn() { is_taken = false; }
    };
    const turn own{is_settling_ = true};
    leave_all();
    left_.remove_if([this](const held_team& team) { return is_over(team); });
}

void team_register::leave_all() {
    // acquire: what the last user has left of each [teams.let_go]
    while (held_team* team = let_go_.exchange(nullptr, std::memory_order_acquire)) {
        while (team != nullptr) leave(*std::exchange(team, team->let_go_before_));
    }
}

void team_register::leave(held_team& team) {
    const auto found =
        std::ranges::find_if(teams_, [&](const held_team& one) { return &one == &team; });
    left_.splice(left_.end(), teams_, found);
    drop_messages(team);
    // Nobody will ever hear that all have left, so the blocks are never used again.
    if (has_dead(team) || may_get_signals(team)) return;
    // What is on its way to other members' blocks must not come after they have been told.
    detail::rank_context& caller = *detail::current_context;
    if (!team.members().are_mapped()) caller.transport->quiet(caller);
    signal(team.members(), 0, offsetof(team_block, departures));
}

void team_register::signal(const team_members& members, std::uint32_t member, std::size_t offset) {
    detail::rank_context& caller = *detail::current_context;
    if (members.are_mapped()) {
        auto* const place = reinterpret_cast<std::byte*>(&members.block(member)) + offset;
        auto& word = *reinterpret_cast<detail::shared_word*>(place);
        machine::word_add_quietly(caller, word, 1);
        return;
    }
    const std::uint64_t word = members.address(member, offset);
    try {
        caller.transport->put(caller, {word, nullptr, 0, word, signal_add(1)});
    } catch (const error& trouble) {
        if (trouble.code() != status::rank_dead) throw;  // nobody will miss it
    }
}

bool team_register::has_dead(const held_team& team) const {
    const machine::death_list* const deaths = context_.deaths;
    return deaths != nullptr && team.members().first_dead(*deaths).has_value();
}

/// Signals of a barrier that this rank has begun and not left are on their way, perhaps, and no
/// `quiet` of their senders waits for them.
bool team_register::may_get_signals(const held_team& team) {
    return !team.members().are_mapped() && (team.is_broken() || team.has_arrived());
}

bool team_register::has_broken() const {
    const auto is_broken = [](const held_team& team) { return team.is_broken(); };
    return std::ranges::any_of(teams_, is_broken) || std::ranges::any_of(left_, is_broken);
}

bool team_register::is_over(const held_team& team) {
    if (has_dead(team)) return false;
    const team_members& members = team.members();
    team_block& own = members.block(members.own());
    if (members.own() == 0) {
        if (detail::word_load(own.departures) < members.count()) return false;
        for (std::uint32_t member = 1; member < members.count(); ++member) {
            signal(members, member, offsetof(team_block, all_have_left));
        }
    } else if (detail::word_load(own.all_have_left) == 0) {
        return false;
    }
    drop_messages(team);
    drop_block(members.address(members.own(), 0));
    return true;
}

/// Of collectives that others have called and this rank has not, or not to their end.
void team_register::drop_messages(const held_team& team) {
    if (context_.inbox != nullptr) context_.inbox->drop_team(team.members().name());
}

}  // namespace selion::collectives
