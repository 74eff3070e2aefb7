// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <selion/world.hpp>

#include "harness/arguments.hpp"
#include "harness/rows.hpp"

namespace prediction {

/// What is timed: one operation with one payload.
struct timed_call {
    std::string op;
    std::uint64_t bytes = 0;
};

/// Reads and checks `params`. @error study::bad_argument, with the legal values.
timed_call read_call(const nlohmann::ordered_json& params);

/// Collective. @return nanoseconds of one call; the same on all ranks. @pre two ranks.
study::spread time_call(selion::world& world, const timed_call& call);

}  // namespace prediction
