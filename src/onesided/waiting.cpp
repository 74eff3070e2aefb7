// SPDX-License-Identifier: Apache-2.0
#include "onesided/waiting.hpp"

#include <fmt/format.h>

#include "selion/error.hpp"

namespace selion::detail {

void end_collective_wait(const rank_context& caller) {
    throw error(status::timed_out,
                fmt::format("rank {} has waited too long {}", caller.rank,
                            machine::last_call_text(*caller.call)),
                {.rank = caller.rank,
                 .peer = {},
                 .operation = std::string(
                     name_of(static_cast<machine::operation>(machine::look_at(caller.call->what)))),
                 .bytes = {}});
}

}  // namespace selion::detail
