// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

/// The one tree of all collectives. Places are ranks, or ranks counted from a root: place 0 is the
/// root; the parent of another place lacks its lowest one bit. So the places below a place are its
/// neighbours in number, and a reduction up the tree keeps their order:
///
///     level 0:  (0 1) (2 3) (4 5)  6         each place that is even takes in the next
///     level 1:  ((0 1)(2 3)) ((4 5) 6)       ... each multiple of 4 the one two further
///     level 2:  all
///
/// This association is part of what all_reduce promises (selion/reduction.hpp): whatever machine
/// combines, by messages or in shared memory, has to come to these bits.
namespace selion::collectives::binomial_tree {

/// The link to the parent has this level: the parent is 2^level places before. @pre place != 0.
constexpr std::uint32_t parent_level(std::uint32_t place) {
    return static_cast<std::uint32_t>(std::countr_zero(place));
}

/// The children of a place lie 2^0, 2^1, ... places after it; this says how many they are.
constexpr std::uint32_t child_levels(std::uint32_t place, std::uint32_t places) {
    return static_cast<std::uint32_t>(
        std::min(std::countr_zero(place), static_cast<int>(std::bit_width(places - 1 - place))));
}

}  // namespace selion::collectives::binomial_tree
