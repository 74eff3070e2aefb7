// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "machine/spec.hpp"

namespace selion::machine {

/// Why the system has no room for the processes of a job and their threads, and the cure, as a
/// sentence; empty: it has. What it takes for others is not counted.
std::string too_many_processes(const node_shape& shape);

}  // namespace selion::machine
