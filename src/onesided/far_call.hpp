// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <source_location>

#include "machine/call_record.hpp"

namespace selion::onesided {

/// For its lifetime reports name a call that may wait for another rank's memory. One that reaches
/// the memory itself does not wait, and is not noted.
class far_call {
public:
    far_call(detail::rank_context& context, machine::operation what, bool may_wait,
             std::source_location site) {
        if (may_wait) scope_.emplace(context, what, site);
    }

private:
    std::optional<machine::call_scope> scope_;
};

}  // namespace selion::onesided
