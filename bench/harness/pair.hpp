// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <selion/selion.hpp>

namespace bench {

/// Processors that the caller may use. Before ranks run: they may be bound.
int usable_processors();

/// Whether a job is two ranks that share memory and have a processor each; says at rank 0 what else
/// it is. What is written by hand spins: for ranks that take turns on a processor it would never
/// end, and no figure would be true.
/// @param processors see above.
bool is_pair(const selion::world& world, const char* program, int processors);

}  // namespace bench
