// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <selion/detail/export.hpp>
#include <selion/machines.hpp>
#include <selion/schedule.hpp>

/// Orders in which every core of a mesh sends what it has to all others, straight to their memory.
/// Which one is best depends on the links: those that many take at the same time make cores wait.
namespace selion {

/// Ranks in rows from left to right, the rows from above down, as simulated meshes number them.
struct mesh_shape {
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
    std::uint32_t ranks = 0;  ///< where the last row is shorter; 0: rows * columns
};

/// Where so many ranks are on a machine: its own mesh, whose last row may be shorter; on machines
/// without one the mesh that is most nearly a square and has no gap.
SELION_API mesh_shape mesh_of(const machine_description& machine);

/// Whether an algorithm of all-gather is such an order: `pass_up`, `zero_to_n`, `random`, `mapped`
/// or `spread`.
SELION_API bool is_mesh_order(schedule_algorithm algorithm);

/// @return to whom `rank` sends, one after another: every other rank once.
/// @param seed of `random`; other orders do not look at it.
/// @error selion::error for an algorithm that is no such order, a mesh without ranks or with more
/// than 2^20 or than it has room for, and a rank that is not on it.
SELION_API std::vector<std::uint32_t> mesh_order(schedule_algorithm order, mesh_shape mesh,
                                                 std::uint32_t rank, std::uint32_t seed = 1);

}  // namespace selion
