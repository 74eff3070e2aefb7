// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "machine/node/patience.hpp"
#include "machine/node/shared_mapping.hpp"
#include "machine/spec.hpp"
#include "selion/error.hpp"

namespace selion::machine::node {

/// What spec and environment ask of a machine on one host, checked.
struct job_setting {
    machine_description description;
    node_shape shape;
    /// Option direct=off: each rank maps only its own memory, as on a cluster.
    bool is_direct = true;
    /// Option progress=interrupt: a thread of each process serves messages to ranks that compute.
    bool has_notifier = false;
    std::uint64_t heap_bytes = 0;
    std::uint64_t stack_bytes = 0;
    std::uint64_t message_bytes = 0;
    std::uint32_t joined_threads = 0;
    std::int64_t hang_timeout_ns = 0;
    bool aborts_on_hang = false;
    bool compares_calls = false;  ///< of ranks in each collective
    patience how_long{};
    std::vector<int> binding;  ///< processor of each carrier; empty: free to move

    mapping_plan plan(bool is_shared, bool fence_signals) const;
    bell_layout bells() const { return {shape, joined_threads, has_notifier}; }
};

/// @error bad_argument for options and variables that are malformed.
result<job_setting> make_setting(const machine_spec& spec, const node_shape& shape);

}  // namespace selion::machine::node
