// SPDX-License-Identifier: Apache-2.0
#include "candidates.hpp"

#include <algorithm>
#include <cmath>

namespace tune {
namespace {

using selion::collective_choice;
using selion::collective_way;
using selion::schedule_algorithm;

/// A tree of a radix of all members is a flat one.
std::vector<std::uint32_t> radices(schedule_algorithm algorithm, std::uint32_t members,
                                   collective_way way) {
    std::vector<std::uint32_t> all{2};
    if (!uses_radix(algorithm) || way == collective_way::messages) return all;
    for (const std::uint32_t radix : {4u, 8u, 16u}) {
        if (radix < members) all.push_back(radix);
    }
    return all;
}

/// Of trees those that the host suggests; a mesh is as square as it can be.
std::set<std::uint32_t> groups(schedule_algorithm algorithm, const shape& team) {
    if (algorithm == schedule_algorithm::mesh) {
        return {static_cast<std::uint32_t>(std::ceil(std::sqrt(team.members)))};
    }
    if (algorithm != schedule_algorithm::hierarchical) return {2};
    std::set<std::uint32_t> all = team.groups;
    all.insert(2);
    if (team.members > 8) all.insert(8);
    return all;
}

/// Shorter segments than 8 KiB spend their time on messages.
std::vector<std::uint32_t> segments(selion::collective_kind what, schedule_algorithm algorithm,
                                    const shape& team) {
    constexpr std::size_t shortest = 8 * 1024;
    std::vector<std::uint32_t> all{1};
    const bool passes_on = algorithm != schedule_algorithm::flat;
    if (!passes_on || !selion::uses_segments(what, algorithm) || team.members < 3) return all;
    for (const std::uint32_t parts : {8u, 32u}) {
        if (team.bytes / parts >= shortest) all.push_back(parts);
    }
    return all;
}

void add_algorithm(std::vector<collective_choice>& all, selion::collective_kind what,
                   const shape& team, const collective_choice& like) {
    for (const std::uint32_t radix : radices(like.schedule.algorithm, team.members, like.way)) {
        for (const std::uint32_t group : groups(like.schedule.algorithm, team)) {
            for (const std::uint32_t parts : segments(what, like.schedule.algorithm, team)) {
                collective_choice one = like;
                one.schedule.radix = radix;
                one.schedule.group = group;
                one.schedule.segments = parts;
                all.push_back(one);
            }
        }
    }
}

void add_schedules(std::vector<collective_choice>& all, selion::collective_kind what,
                   const shape& team, collective_way way) {
    for (const schedule_algorithm algorithm : selion::algorithms_for(what)) {
        // The orders of a mesh differ from `pairwise` only by links, which a host has not.
        if (selion::is_mesh_order(algorithm)) continue;
        if (uses_group(algorithm) && team.members < 4) continue;
        add_algorithm(all, what, team, {way, {.algorithm = algorithm}});
    }
}

}  // namespace

std::set<std::uint32_t> groups_of(const selion::team& team) {
    std::set<std::uint32_t> sizes;
    for (const auto where :
         {selion::locality::cache, selion::locality::socket, selion::locality::node}) {
        const selion::team near = team.split(where);
        const std::uint32_t first = near.world_rank(0);
        const bool are_neighbours = near.world_rank(near.size() - 1) - first == near.size() - 1;
        const std::uint32_t least = team.all_reduce(near.size(), selion::minimum);
        const std::uint32_t most = team.all_reduce(near.size(), selion::maximum);
        const bool is_usual = team.all_reduce(are_neighbours ? 1u : 0u, selion::minimum) != 0;
        if (is_usual && least == most && most > 1 && most < team.size()) sizes.insert(most);
    }
    return sizes;
}

std::vector<collective_choice> candidates(selion::collective_kind what, const shape& team,
                                          bool any_order) {
    std::vector<collective_choice> all{{collective_way::board, {}},
                                       {collective_way::slots, {}},
                                       {collective_way::direct, {}},
                                       {collective_way::nodes, {}}};
    constexpr std::uint32_t short_part = 8 * 1024;  // a quarter of a slot
    if (team.bytes > short_part) all.push_back({collective_way::slots, {}, short_part});
    add_schedules(all, what, team, collective_way::lines);
    add_schedules(all, what, team, collective_way::messages);
    if (!any_order) {
        std::erase_if(all, [&](const collective_choice& one) {
            return !keeps_association(what, one, team.members);
        });
    }
    return all;
}

}  // namespace tune
