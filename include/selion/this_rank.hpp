// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>

#include <selion/detail/caller.hpp>
#include <selion/rank.hpp>

/// Whom code works for that has no `world` at hand: functions that others call here, handlers,
/// continuations, and what they call.
namespace selion {

/// The rank that the caller works for: in a function that `rpc` calls, the one that was called.
/// @pre the thread is a rank's, or has a `rank_scope`. @cost no communication.
[[nodiscard]] inline rank_id this_rank(
    std::source_location site = std::source_location::current()) {
    return detail::context_of_caller(site).rank;
}

/// How many ranks the job has. @pre as `this_rank`. @cost no communication.
[[nodiscard]] inline std::uint32_t rank_count(
    std::source_location site = std::source_location::current()) {
    return detail::context_of_caller(site).ranks;
}

}  // namespace selion
