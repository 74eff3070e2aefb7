// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace selion::machine::sim {

/// Virtual time is counted in whole ticks, whose length the machine file names: half a cycle of a
/// mesh whose costs are half cycles, else a picosecond. A core's time is a running total of ticks
/// and is converted as a whole, so costs in cycles never lose a fraction.
using ticks = std::int64_t;

/// Wide enough for a product of two 64-bit numbers.
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

inline constexpr ticks end_of_time = INT64_MAX;
/// No single time is longer: sums of several fit.
inline constexpr ticks longest_time = end_of_time / 8;

/// How long a tick is: `numerator / denominator` picoseconds, at least one picosecond.
struct tick_length {
    std::int64_t numerator_ps = 1;
    std::int64_t denominator = 1;

    double in_ps() const {
        return static_cast<double>(numerator_ps) / static_cast<double>(denominator);
    }
    /// Rounds down.
    std::int64_t to_ps(ticks time) const {
        return static_cast<std::int64_t>(static_cast<wide>(time) * numerator_ps / denominator);
    }
    /// Rounds up, so that `from_ps(to_ps(t)) == t`.
    ticks from_ps(std::int64_t ps) const {
        const wide scaled = static_cast<wide>(ps) * denominator + (numerator_ps - 1);
        return static_cast<ticks>(scaled / numerator_ps);
    }
};

}  // namespace selion::machine::sim
