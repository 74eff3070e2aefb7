// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <selion/world.hpp>

#include "harness/rows.hpp"

namespace multicore {

/// What is done at a point of an experiment. Collective.
using measurement = std::function<void(selion::world& world, const study::row_frame& frame)>;

/// The `turn`-th of many calls, by all ranks.
using repeated_call = std::function<void(std::uint32_t turn)>;

/// Microseconds of one call among many, back to back: from when all have begun until all have
/// ended. Collective; all ranks get the same. On a machine in virtual time one block of calls tells
/// all; on a real one there are several, long enough for the clock.
std::vector<double> time_calls(const selion::world& world, const repeated_call& call);

/// The same of calls that all ranks begin at the same time. On a real machine that would disturb
/// more than it says: there they follow each other.
std::vector<double> time_apart(const selion::world& world, const repeated_call& call);

/// As `time_calls`, of what `call` takes more than `less`, in blocks that follow each other.
std::vector<double> time_difference(const selion::world& world, const repeated_call& call,
                                    const repeated_call& less);

double median(const std::vector<double>& samples);

/// At rank 0: prints a figure as it is on a machine in virtual time, where it is exact, else with
/// its spread.
void print_figure(const selion::world& world, const study::row_frame& frame,
                  const study::measurement& what, const std::vector<double>& samples);

/// At rank 0.
void print_value(const selion::world& world, const study::row_frame& frame,
                 const study::measurement& what, double value);

/// At rank 0: says why the machine cannot do a point.
void print_skip(const selion::world& world, const std::string& reason);

}  // namespace multicore
