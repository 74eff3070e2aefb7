// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <selion/world.hpp>

#include "harness/arguments.hpp"
#include "harness/rows.hpp"
#include "waiting.hpp"

namespace one_sided {

/// Collective: measures one point once, and prints its rows.
using measurement = std::function<void(selion::world&, const study::row_frame&)>;

enum class transfer_figure { latency, bandwidth };

// All of them read and check the point's params first. @error study::bad_argument

/// One operation after another, each from its call until its completion counter has counted.
measurement read_transfer(const nlohmann::ordered_json& params, transfer_figure wanted);

/// `depth` operations at a time, and then a wait for all of them.
measurement read_queue(const nlohmann::ordered_json& params);

/// The source's test of overlap. At `cpu_us` = 0 it prints what is free as well.
/// @param how what is done while nothing is complete.
measurement read_overlap(const nlohmann::ordered_json& params, waiting how);

/// One operation after another where messages get lost, each with a time-out at first.
measurement read_faulty_link(const nlohmann::ordered_json& params);

/// One operation on a rank that computes and makes no calls, begun at some time of its silence.
measurement read_silent_target(const nlohmann::ordered_json& params);

}  // namespace one_sided
