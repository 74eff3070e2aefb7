// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <selion/selion.hpp>

#include "harness/arguments.hpp"

namespace host {

/// What is measured: one operation with one payload.
struct measured_call {
    std::string op;
    std::uint64_t bytes = 0;

    bool is_collective() const { return op == "barrier" || op == "all_reduce"; }
    /// Whether all ranks make a call together.
    bool meets() const { return is_collective() || op == "put_signal"; }
    bool moves_payload() const { return op == "put" || op == "get" || op == "put_signal"; }
};

/// Reads and checks `params`. @error study::bad_argument, with the legal values.
measured_call read_call(const nlohmann::ordered_json& params);

/// Makes that many calls in a row, on the right neighbour where the call has a target.
using repeated_call = std::function<void(std::uint64_t count)>;

/// Collective: allocates what the call needs; it lives as long as the job.
repeated_call prepare(selion::world& world, const measured_call& call);

}  // namespace host
