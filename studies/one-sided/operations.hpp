// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <selion/selion.hpp>

#include "harness/arguments.hpp"

namespace one_sided {

enum class direction { put, get };

/// What rank 0 does to the memory of rank 1.
struct operation {
    direction op = direction::put;
    std::uint64_t bytes = 0;
    std::uint32_t depth = 1;  ///< how many at a time
};

/// Reads and checks `op`, `bytes` and, where the experiment has it, `depth`.
/// @error study::bad_argument
operation read_operation(const nlohmann::ordered_json& params);

/// The source measures between two nodes: rank 0 acts and rank 1 is the target.
inline bool is_origin(const selion::world& world) { return world.rank() == 0; }

/// Puts or gets under way at the same time, each in a slot: with a buffer at the origin and a place
/// at the target of its own.
class slots {
public:
    /// Collective. The memory lives as long as the job.
    slots(const selion::world& world, const operation& what);

    /// @pre the caller is the origin, and nothing is under way in the slot.
    void start(std::uint32_t slot, const selion::counters& when);

    std::uint32_t size() const { return what_.depth; }
    bool are_puts() const { return what_.op == direction::put; }

private:
    operation what_;
    selion::global_ptr<std::byte> places_;
    std::vector<std::byte> buffers_;
};

}  // namespace one_sided
