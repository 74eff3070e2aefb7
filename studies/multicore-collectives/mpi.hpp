// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/arguments.hpp"
#include "measuring.hpp"

namespace multicore {

/// The experiment `mpi`: a collective of this library's ranks, or of an MPI library's processes.
/// @error study::bad_argument
int run_mpi(int argc, char** argv, const study::arguments& given);

/// First argument of the processes that `run_mpi` has an MPI library start.
inline constexpr const char* mpi_process = "mpi-process";
/// One of them. @return exit status.
int run_mpi_process(int argc, char** argv);

}  // namespace multicore
