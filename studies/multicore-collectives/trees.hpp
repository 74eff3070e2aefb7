// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls.hpp"
#include "measuring.hpp"

namespace multicore {

// All of them read and check the point's params first. @error study::bad_argument

/// Prints parents and depth of a tree, which need no machine.
void print_tree_shape(const nlohmann::ordered_json& params, std::uint32_t repetition);

/// One collective by one tree.
measurement read_radix(const nlohmann::ordered_json& params);

/// The flat tree, the binomial one and the best of all radices.
measurement read_summary(const nlohmann::ordered_json& params);

/// Whether all ranks reach each other's memory. If not, rank 0 has printed why that is no point.
/// Collective.
bool shares_one_memory(const selion::world& world);

/// What the fastest of the trees takes.
struct best_tree {
    std::uint32_t radix = flat;
    double us = 0;
};

/// Tries the flat tree and radices up to as many as there are ranks. Collective; all ranks get the
/// same. @param time_with microseconds of a radix, the same at all ranks.
best_tree search_radix(std::uint32_t ranks, const std::function<double(std::uint32_t)>& time_with);

}  // namespace multicore
