// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "machine/node/shared_mapping.hpp"

namespace selion::machine::node {

/// A mapping of a small job without ranks that run.
inline shared_mapping small_mapping(std::uint32_t processes, std::uint32_t ranks_of_each,
                                    bool is_shared = false, bool has_notifier = false) {
    mapping_plan plan;
    plan.shape.processes = processes;
    plan.shape.ranks_per_process = ranks_of_each;
    plan.shape.carriers_per_process = ranks_of_each;
    plan.joined_threads = 3;
    plan.heap_bytes = 1 << 20;
    plan.is_shared = is_shared;
    plan.has_notifier = has_notifier;
    result<shared_mapping> made = shared_mapping::create(plan);
    EXPECT_TRUE(made.has_value());
    return std::move(made).value();
}

}  // namespace selion::machine::node
