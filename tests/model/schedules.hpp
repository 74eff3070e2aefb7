// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <cstring>

#include <relacy/relacy.hpp>

namespace model {

/// How many random schedules are tried: those, or where CI=true leaves out what takes long the
/// first fifth of the same ones.
inline rl::iteration_t tried_of(rl::iteration_t schedules) {
    const char* const ci = std::getenv("CI");
    return ci != nullptr && std::strcmp(ci, "true") == 0 ? schedules / 5 : schedules;
}

}  // namespace model
