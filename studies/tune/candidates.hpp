// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <selion/selion.hpp>

namespace tune {

/// What the ways that make sense depend on.
struct shape {
    std::uint32_t members;
    std::size_t bytes;  ///< of one block
    /// Sizes of groups of neighbours that have a cache, a socket or a node in common.
    std::set<std::uint32_t> groups;
};

/// Collective. Groups of a team's members, where all are equally large and neighbours in number,
/// and there are several.
std::set<std::uint32_t> groups_of(const selion::team& team);

/// Every way that a team has for a collective: board, slots, direct and nodes, and each schedule
/// over lines and over messages. Over messages only the narrowest trees. Long vectors also in
/// segments.
/// @param any_order also those that change the association of a sum.
std::vector<selion::collective_choice> candidates(selion::collective_kind what, const shape& team,
                                                  bool any_order);

}  // namespace tune
