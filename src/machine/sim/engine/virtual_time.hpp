// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
/// What many times are added up to without an event between goes no further: nothing that is due
/// then ever happens (`engine::limit_time`).
inline constexpr ticks out_of_reach = 2 * longest_time;

/// @param by at most `out_of_reach`, as is `at`.
constexpr ticks later(ticks at, ticks by) { return std::min(at + by, out_of_reach); }
/// So many times as long, at most `longest_time`.
constexpr ticks multiple(std::uint64_t count, ticks each) {
    return static_cast<ticks>(std::min<wide>(static_cast<wide>(count) * each, longest_time));
}

/// How long a tick is: `numerator / denominator` picoseconds, at least one picosecond.
struct tick_length {
    std::int64_t numerator_ps = 1;
    std::int64_t denominator = 1;

    double in_ps() const {
        return static_cast<double>(numerator_ps) / static_cast<double>(denominator);
    }
    /// Rounds down.
    std::int64_t to_ps(ticks time) const {
        const wide exact = static_cast<wide>(time) * numerator_ps / denominator;
        return static_cast<std::int64_t>(std::min<wide>(exact, INT64_MAX));
    }
    /// Rounds up, so that `from_ps(to_ps(t)) == t`.
    ticks from_ps(std::int64_t ps) const {
        const wide scaled = static_cast<wide>(ps) * denominator + (numerator_ps - 1);
        return static_cast<ticks>(scaled / numerator_ps);
    }
    /// The end of virtual time: it is told in picoseconds, too, so they must fit as ticks must.
    ticks latest() const { return std::min(longest_time, from_ps(longest_time)); }
};

}  // namespace selion::machine::sim
