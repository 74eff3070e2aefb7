// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/arguments.hpp"

namespace multicore {

/// Runs the point on the machine in the mode that its spec names, and in mode vn to compare with.
/// @return the exit status. @error study::bad_argument
int run_cluster(int argc, char** argv, const study::arguments& given);

}  // namespace multicore
