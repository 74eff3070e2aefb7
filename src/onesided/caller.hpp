// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>

#include "selion/detail/rank_context.hpp"
#include "selion/expect.hpp"

namespace selion::detail {

/// Context of the calling thread's rank. Ends the job with the cure when it belongs to none.
SELION_API rank_context& context_of_caller(std::source_location site);

}  // namespace selion::detail
