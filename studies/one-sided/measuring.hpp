// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <selion/world.hpp>

#include "harness/rows.hpp"
#include "processor.hpp"

namespace one_sided {

/// Collective: rank 0 does what is measured while rank 1 is its target: that waits in a call, as
/// the source's does when LAPI polls, or computes where messages interrupt it.
void beside_target(selion::world& world, const processor& cpu,
                   const std::function<void()>& measure);

/// Nanoseconds of one of many calls. On a machine in virtual time one block of them tells all; on a
/// real one there are several, long enough for the clock.
study::spread time_calls(const selion::world& world,
                         const std::function<void(std::uint64_t count)>& calls);

/// Prints a time as it is on a machine in virtual time, where it is exact, else with its spread.
void print_figure(const selion::world& world, const study::row_frame& frame,
                  const study::measurement& what, const study::spread& figure);

/// Microseconds of each of `shares` that together take so many nanoseconds.
study::spread in_us(const study::spread& ns, std::uint32_t shares = 1);
/// MiB in a second, where so many bytes take so many nanoseconds.
study::spread in_mib_per_s(std::uint64_t bytes, const study::spread& ns);

}  // namespace one_sided
