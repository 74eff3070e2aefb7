// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "host_cores.hpp"
#include "timing.hpp"

/// What lies between two cores: each thread of a pair is bound to its own.
namespace calibrate {

/// Two cores that are measured together.
struct core_pair {
    host_core reader;
    host_core writer;
};

/// Pairs whose cores share the last cache, or do not: those of the first core, spread evenly.
/// Empty if there are none.
std::vector<core_pair> pairs_of(const std::vector<host_core>& cores, bool share_a_cache,
                                std::size_t most);

/// A load of a line that the other core has changed: samples of all pairs together.
study::spread crossing_ns(const effort& how, const std::vector<core_pair>& pairs);

/// A flag from its store to the moment when the other core, which spins on it, has seen it.
study::spread flag_ns(const effort& how, const std::vector<core_pair>& pairs);

}  // namespace calibrate
