// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_register.hpp"

#include <algorithm>

#include "collectives/message_inbox.hpp"
#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/global_address.hpp"
#include "onesided/symmetric_heap.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/error.hpp"
#include "selion/signal.hpp"

namespace selion::collectives {

std::optional<std::uint64_t> team_register::make_block() {
    collect();
    const auto offset = context_.heap->allocate_for_runtime(sizeof(team_block));
    if (!offset) return std::nullopt;
    ++blocks_made_;
    return detail::global_address(context_.rank, *offset);
}

void team_register::drop_block(std::uint64_t block) {
    context_.heap->deallocate_for_runtime(block & detail::offset_mask, sizeof(team_block));
}

team_state& team_register::add(const std::vector<team_members::entry>& entries, std::uint32_t own) {
    return teams_.emplace_back(context_, team_members(context_, entries, own));
}

void team_register::leave(team_state& team) {
    const auto found =
        std::ranges::find_if(teams_, [&](const team_state& one) { return &one == &team; });
    left_.splice(left_.end(), teams_, found);
    drop_messages(team);
    if (has_dead(team)) return;  // nobody will ever hear that all have left
    // What is on its way to other members' blocks must not come after they have been told.
    const bool may_be_late = !team.members().are_mapped() && !context_.own.in_handler;
    if (may_be_late) context_.transport->quiet(context_);
    signal(team.members(), 0, offsetof(team_block, departures));
    collect();
}

void team_register::signal(const team_members& members, std::uint32_t member, std::size_t offset) {
    if (members.are_mapped()) {
        auto* const place = reinterpret_cast<std::byte*>(&members.block(member)) + offset;
        auto& word = *reinterpret_cast<detail::shared_word*>(place);
        machine::word_add_quietly(context_, word, 1);
        return;
    }
    const std::uint64_t word = members.address(member, offset);
    try {
        context_.transport->put(context_, {word, nullptr, 0, word, signal_add(1)});
    } catch (const error& trouble) {
        if (trouble.code() != status::rank_dead) throw;  // nobody will miss it
    }
}

bool team_register::has_dead(const team_state& team) const {
    const machine::death_list* const deaths = context_.deaths;
    return deaths != nullptr && team.members().first_dead(*deaths).has_value();
}

void team_register::collect() {
    left_.remove_if([this](const team_state& team) { return is_over(team); });
}

bool team_register::is_over(const team_state& team) {
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

/// Of collectives that others have called and this rank has not, or not to their end. A handler may
/// have come between the rank and its inbox.
void team_register::drop_messages(const team_state& team) {
    if (context_.inbox == nullptr || context_.own.in_handler) return;
    context_.inbox->drop_team(team.members().name());
}

}  // namespace selion::collectives
