// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>

#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>

namespace selion::detail {

[[noreturn]] SELION_API void end_for_stray_thread(std::source_location site);

/// Context of the calling thread's rank. Ends the job with the cure when it belongs to none.
inline rank_context& context_of_caller(std::source_location site) {
    rank_context& context = *current_context;
    if (context.ranks == 0) [[unlikely]]
        end_for_stray_thread(site);
    return context;
}

}  // namespace selion::detail
