// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/reduction.hpp>
#include <selion/schedule.hpp>

namespace selion::detail {

/// A collective of blocks, without its types. Which of `source` and `target` a rank has, and of how
/// many blocks, depends on the collective: see `team`. A broadcast has its one block at `target`,
/// also at the root; an all-reduce may have one block at both.
struct block_call {
    collective_kind what;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::size_t count = 0;  ///< elements of a block
    std::size_t element_bytes = 1;
    const reduction* how = nullptr;  ///< null: blocks are moved
    std::uint32_t root = 0;
    /// Carried out by messages, as this schedule says, instead of as the team thinks best. Its
    /// collective, ranks and root are the call's. One that does not keep the order of the ranks
    /// needs an operation that commutes.
    const schedule_request* chosen = nullptr;

    std::size_t block_bytes() const { return count * element_bytes; }
};
SELION_API void run_block_call(rank_context& context, const block_call& call,
                               std::source_location site);

}  // namespace selion::detail
