// SPDX-License-Identifier: Apache-2.0
#include "candidates.hpp"

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

std::vector<std::uint32_t> groups(schedule_algorithm algorithm, std::uint32_t members) {
    std::vector<std::uint32_t> all{2};
    if (algorithm == schedule_algorithm::hierarchical && members > 8) all.push_back(8);
    return all;
}

void add_schedules(std::vector<collective_choice>& all, selion::collective_kind what,
                   std::uint32_t members, collective_way way) {
    for (const schedule_algorithm algorithm : selion::algorithms_for(what)) {
        const bool needs_groups = algorithm == schedule_algorithm::hierarchical;
        if (needs_groups && members < 4) continue;
        for (const std::uint32_t radix : radices(algorithm, members, way)) {
            for (const std::uint32_t group : groups(algorithm, members)) {
                all.push_back({way, {.algorithm = algorithm, .radix = radix, .group = group}});
            }
        }
    }
}

}  // namespace

std::vector<collective_choice> candidates(selion::collective_kind what, std::uint32_t members,
                                          bool any_order) {
    std::vector<collective_choice> all{
        {collective_way::board, {}}, {collective_way::slots, {}}, {collective_way::direct, {}}};
    add_schedules(all, what, members, collective_way::lines);
    add_schedules(all, what, members, collective_way::messages);
    if (!any_order) {
        std::erase_if(
            all, [what](const collective_choice& one) { return !keeps_association(what, one); });
    }
    return all;
}

}  // namespace tune
