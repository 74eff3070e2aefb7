// SPDX-License-Identifier: Apache-2.0
/// How teams come into being, and end.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/collective_plan.hpp"
#include "machine/machine.hpp"
#include "onesided/symmetric_heap.hpp"
#include "selion/detail/composed_call.hpp"
#include "selion/error.hpp"
#include "selion/expect.hpp"
#include "selion/team.hpp"
#include "world/team_life.hpp"
#include "world/world_state.hpp"

namespace selion {
namespace {

/// What a member tells the others when a team is split.
struct proposal {
    std::uint64_t block;  ///< global address; null: no room
    std::int64_t key;
    std::uint32_t colour;
    std::uint32_t first_beside;  ///< world rank of the first rank that shares its carrier
    std::uint32_t made;          ///< teams that the member has made, this one included
};

bool lacks_room(const proposal& one) {
    return one.colour != team::no_colour && one.block == detail::null_address;
}

/// Members of one colour by their numbers in the old team, in the order of the new one.
std::vector<std::uint32_t> members_of(const std::vector<proposal>& all, std::uint32_t colour) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t member = 0; member < all.size(); ++member) {
        if (all[member].colour == colour) members.push_back(member);
    }
    std::ranges::stable_sort(members, {}, [&](std::uint32_t member) { return all[member].key; });
    return members;
}

}  // namespace

std::uint32_t detail::world_rank_of(const team_view& team, std::uint32_t member) {
    return team.state->members().world_rank(member);
}

void team::choose(collective_kind what, const std::optional<collective_choice>& how,
                  std::source_location site) const {
    SELION_EXPECT_AT(is_member(), site,
                     fmt::format("choose: rank {} is no member of this team", context().rank));
    if (how && collectives::follows_schedule(how->way)) {
        schedule_request request = how->schedule;
        request.collective = what;
        request.ranks = size();
        request.root = 0;
        static_cast<void>(make_schedule(request, rank()));  // refuses what is not legal
        if (request.segments != 1 && !uses_segments(what, request.algorithm)) {
            throw error(status::bad_argument,
                        fmt::format("choose: {} by {} goes in no segments", name_of(what),
                                    name_of(request.algorithm)));
        }
    }
    view().state->choose(what, how);
}

collective_explanation team::explain(collective_kind what, std::size_t bytes,
                                     std::source_location site) const {
    SELION_EXPECT_AT(is_member(), site,
                     fmt::format("explain: rank {} is no member of this team", context().rank));
    return view().state->explain(what, bytes);
}

std::optional<team_rank> team::rank_of(rank_id rank) const {
    for (std::uint32_t member = 0; member < size(); ++member) {
        if (world_rank(member) == rank) return member;
    }
    return std::nullopt;
}

team team::make(std::uint32_t colour, std::int64_t key, std::source_location site) const {
    proposal own{detail::null_address, key, colour, context().group_first, 0};
    detail::world_state& state = detail::state_of(context());
    state.started.let_go();
    const auto propose = [&] {
        if (lacks_room(own)) {
            own.block = state.teams->make_block().value_or(detail::null_address);
            own.made = state.teams->blocks_made();
        }
        return all_gather(own, site);
    };
    std::vector<proposal> all = propose();
    if (std::ranges::any_of(all, lacks_room)) {
        // Blocks of teams that all have left may be what fills the heap.
        state.teams->settle_together([&] { barrier(site); });
        all = propose();
    }
    std::vector<collectives::team_members::entry> entries;
    std::uint32_t number = 0;
    for (const std::uint32_t member : members_of(all, colour)) {
        if (member == rank()) number = static_cast<std::uint32_t>(entries.size());
        entries.push_back({all[member].block, all[member].first_beside, all[member].made});
    }
    if (colour == no_colour) return team({.context = &context()}, nullptr);
    const auto has_no_room = [](const collectives::team_members::entry& one) {
        return one.block == detail::null_address;
    };
    if (std::ranges::any_of(entries, has_no_room)) {
        if (own.block != detail::null_address) state.teams->drop_block(own.block);
        throw error(
            status::out_of_memory,
            fmt::format(
                "no room for a new team of {}: a member's heap is full; {}", entries.size(),
                context().heap->cure_text(sizeof(collectives::team_block), "let other teams go")));
    }
    collectives::held_team& made = state.teams->add(entries, number);
    return team(detail::view_of(context(), made), detail::life_of(made, state.teams));
}

team team::split(std::uint32_t colour, std::int64_t key, std::source_location site) const {
    const detail::composed_call whole(view(), detail::composed_call::name::split, site);
    return make(colour, key, site);
}

team team::split(locality where, std::source_location site) const {
    const detail::composed_call whole(view(), detail::composed_call::name::split, site);
    return make(context().host->launcher().place_of(context(), where), 0, site);
}

team team::subteam(std::span<const team_rank> members, std::source_location site) const {
    const detail::composed_call whole(view(), detail::composed_call::name::subteam, site);
    std::vector<bool> is_listed(size());
    std::int64_t key = -1;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::uint32_t member = members[i];
        SELION_EXPECT_AT(
            member < size(), site,
            fmt::format("subteam: {} is no member; members are 0 to {}", member, size() - 1));
        SELION_EXPECT_AT(!is_listed[member], site,
                         fmt::format("subteam: member {} is listed twice", member));
        is_listed[member] = true;
        if (member == rank()) key = static_cast<std::int64_t>(i);
    }
    return make(key < 0 ? no_colour : 0, key, site);
}

}  // namespace selion
