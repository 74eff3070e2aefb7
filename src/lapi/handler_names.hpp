// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lapi/task.hpp"

namespace selion::lapi {

/// How a message names a header handler. Processes of one program may be mapped at different
/// addresses, so one of the sender's own program is named by its image and its distance from the
/// image's start; any other address must be the target's own; small numbers are places in the
/// target's table. The three differ in their topmost 16 bits or in size.
std::uint64_t name_of_handler(const void* handler);
/// @return null if this task has no such handler.
void* handler_of_name(const task& own, std::uint64_t name);

}  // namespace selion::lapi
