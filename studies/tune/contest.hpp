// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <selion/selion.hpp>

namespace tune {

/// What is measured: one collective of blocks of one size, carried out by turns in several ways.
struct task {
    selion::collective_kind what = selion::collective_kind::barrier;
    std::size_t bytes = 0;                             ///< of one block; a multiple of 8
    double seconds = 1;                                ///< about as long as it may take
    std::uint64_t seed = 1;                            ///< of the order in which they take turns
    std::vector<selion::collective_choice> ways = {};  ///< empty: all that there are
    bool is_exhaustive = false;                        ///< nobody is left out for being slow
    bool any_order = false;  ///< also ways that change the association of a sum
};

/// Nanoseconds of one call, of the rank that took longest: one sample for each block of calls.
struct outcome {
    selion::collective_choice way;
    std::uint64_t calls = 0;  ///< of a block
    std::vector<double> ns = {};
    bool is_out = false;  ///< too slow to go on
};

/// What decides: the lower quartile. Whatever disturbs a block makes it longer, never shorter.
double typical_ns(std::vector<double> samples);

/// Collective. @return the ways that are possible, with their samples: the same on all ranks.
std::vector<outcome> measure(selion::world& world, const task& what);

}  // namespace tune
