// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace selion::meters {

/// What one wire of a machine has carried.
struct link_use {
    std::string name;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::int64_t busy_ps = 0;  ///< time that something was on it
    std::int64_t wait_ps = 0;  ///< time that messages have waited for it, summed
};

/// What all wires have carried in a run.
struct network_use {
    std::vector<link_use> links;
    std::int64_t run_ps = 0;  ///< length of the run, until its wires are free
};

}  // namespace selion::meters
