// SPDX-License-Identifier: Apache-2.0
/// What a rank asks about the dead, and how those who live find each other.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "machine/call_record.hpp"
#include "onesided/deaths.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/hash.hpp"
#include "selion/error.hpp"
#include "selion/expect.hpp"
#include "world/team_life.hpp"
#include "world/world_state.hpp"

namespace selion {
namespace {

/// What a member tells the others.
using member_entry = collectives::team_members::entry;

/// A name for a set of the dead that no team has.
std::uint64_t name_of_set(const std::vector<std::uint32_t>& dead) {
    std::uint64_t hash = detail::empty_hash;
    for (const std::uint32_t rank : dead) hash = detail::number_hash(rank, hash);
    return hash | collectives::is_roll_call;
}

/// One attempt of the living to find each other, given up when one more is dead.
class roll_call {
public:
    roll_call(detail::rank_context& context, detail::world_state& state)
        : context_(context), state_(state), dead_(context.deaths->all_declared()) {
        std::ranges::sort(dead_);
        const std::uint64_t set = name_of_set(dead_);
        name_ = {set, state.calls_of_survivors[set] + 1};
    }

    /// @return entries of all who live; empty: one more is dead.
    std::vector<member_entry> call(const member_entry& own) {
        std::vector<member_entry> all;
        try {
            for_others([&](std::uint32_t rank) { send(rank, own); });
            for (std::uint32_t rank = 0; rank < context_.ranks; ++rank) {
                if (is_listed(rank)) continue;
                all.push_back(rank == context_.rank ? own : receive(rank));
            }
        } catch (const error& trouble) {
            if (trouble.code() != status::rank_dead) throw;
            return {};
        }
        ++state_.calls_of_survivors[name_.team];
        context_.deaths->forget_calls(name_.team);
        return all;
    }
    /// How many it leaves out: the first that were declared dead.
    std::size_t dead_count() const { return dead_.size(); }
    std::uint32_t own_number() const {
        const auto before = std::ranges::lower_bound(dead_, context_.rank) - dead_.begin();
        return context_.rank - static_cast<std::uint32_t>(before);
    }

private:
    bool is_listed(std::uint32_t rank) const { return std::ranges::binary_search(dead_, rank); }
    template <class Action>
    void for_others(const Action& action) {
        // Not all to the lowest one first.
        for (std::uint32_t i = 1; i < context_.ranks; ++i) {
            const std::uint32_t rank = (context_.rank + i) % context_.ranks;
            if (!is_listed(rank)) action(rank);
        }
    }
    void send(std::uint32_t rank, const member_entry& own) {
        collectives::message_inbox::send(rank, name_, std::as_bytes(std::span(&own, 1)));
    }
    member_entry receive(std::uint32_t rank) {
        machine::death_list& deaths = *context_.deaths;
        const auto is_vain = [&] { return deaths.declared() != dead_.size(); };
        const auto come = state_.inbox.take_unless({name_, rank}, is_vain, deaths.word());
        if (!come) onesided::throw_rank_dead(context_, rank, "survivors");
        member_entry entry{};
        std::memcpy(&entry, come->data.data(), std::min(come->bytes, sizeof entry));
        return entry;
    }

    detail::rank_context& context_;
    detail::world_state& state_;
    std::vector<std::uint32_t> dead_;
    collectives::collective_name name_;
};

}  // namespace

std::vector<rank_id> world::dead_ranks(std::source_location site) const {
    detail::rank_context& caller = detail::context_of_caller(site);
    detail::expect_may_wait(caller, "dead_ranks", site);
    const std::vector<std::uint32_t> all = onesided::acknowledge_deaths(caller);
    return {all.begin(), all.end()};
}

team world::survivors(std::source_location site) const {
    detail::rank_context& caller = detail::context_of_caller(site);
    detail::expect_may_wait(caller, "survivors", site);
    detail::expect_not_in_completion(caller, machine::operation::survivors, site);
    if (caller.deaths == nullptr) return split(0, 0, site);
    const machine::call_scope scope(caller, machine::operation::survivors, site);
    detail::world_state& state = detail::state_of(context());
    state.started.let_go();
    while (true) {
        // A new block each time: of an attempt that failed here others may have made a team.
        const member_entry own{.block = state.teams->make_block().value_or(detail::null_address),
                               .first_beside = context().group_first,
                               .made = state.teams->blocks_made()};
        roll_call attempt(caller, state);
        const std::vector<member_entry> all = attempt.call(own);
        if (all.empty()) continue;
        const auto size = static_cast<std::uint32_t>(all.size());
        if (std::ranges::find(all, detail::null_address, &member_entry::block) != all.end()) {
            if (own.block != detail::null_address) state.teams->drop_block(own.block);
            throw error(status::out_of_memory,
                        fmt::format("no room for a team of the {} ranks that live: a member's heap "
                                    "is full; set SELION_HEAP to reserve more",
                                    size));
        }
        const std::uint32_t number = attempt.own_number();
        collectives::held_team& made = state.teams->add(all, number);
        // Whom the team leaves out sends nobody to survivors() again: the others may not come.
        onesided::acknowledge_deaths(caller, attempt.dead_count());
        return team(detail::view_of(context(), made), detail::life_of(made, state.teams));
    }
}

}  // namespace selion
