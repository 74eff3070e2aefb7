// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// What the system allows a process, where a network needs it.
namespace selion::machine::fabric {

/// Raises the limit of open files as far as ranks that all speak to each other need it, and as far
/// as the process may. @param own ranks of the process. @return what keeps it too low, and the
/// cure; empty: nothing.
std::string raise_file_limit(std::uint32_t ranks, std::uint32_t own);

/// What is to be told of the processors that a process with so many ranks is bound to: a launcher
/// that knows of one gives it one. Empty: nothing.
std::string warning_of_binding(std::uint32_t ranks);

/// What to change if a call has failed with this number of `errno`; empty: it is no limit.
std::string cure_of_limit(int error_number);

}  // namespace selion::machine::fabric
