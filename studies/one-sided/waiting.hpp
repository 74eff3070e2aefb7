// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <selion/selion.hpp>

#include "harness/arguments.hpp"

namespace one_sided {

/// How a rank learns that an operation is complete.
enum class waiting {
    wait_counter,  ///< one call until then, as LAPI_Waitcntr
    poll_counter,  ///< looks and calls that make progress by turns, as LAPI_Getcntr and LAPI_Probe
};

/// @error study::bad_argument
inline waiting read_waiting(const nlohmann::ordered_json& params) {
    const auto name = study::parameter<std::string>(params, "wait");
    if (name == "wait_counter") return waiting::wait_counter;
    if (name == "poll_counter") return waiting::poll_counter;
    throw study::bad_argument("'wait' is '" + name + "'; legal: wait_counter, poll_counter.");
}

/// Takes `count` from the counter when that many operations have been counted.
inline void wait_for(selion::counter& counted, std::uint64_t count, waiting how) {
    if (how == waiting::poll_counter) {
        while (counted.value() < static_cast<std::int64_t>(count)) selion::progress();
    }
    counted.wait(count);
}

}  // namespace one_sided
