// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <selion/selion.hpp>

namespace tune {

/// Every way that a team of so many members has for a collective: board, slots and direct, and each
/// schedule over lines and over messages. Over messages only the narrowest trees.
/// @param any_order also those that change the association of a sum.
std::vector<selion::collective_choice> candidates(selion::collective_kind what,
                                                  std::uint32_t members, bool any_order);

}  // namespace tune
