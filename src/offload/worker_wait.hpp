// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <source_location>
#include <utility>

#include "machine/call_record.hpp"

namespace selion::offload {

/// For its lifetime reports of hangs name a place of the program in which a rank waits for workers.
class worker_wait {
public:
    /// @param caller rank that has made the pool; null: none, and nothing is noted.
    worker_wait(detail::rank_context* caller, std::source_location site)
        : scope_(begin(caller, site)) {}

private:
    using scope = std::optional<machine::call_scope>;
    static scope begin(detail::rank_context* caller, std::source_location site) {
        if (caller == nullptr) return std::nullopt;
        return scope(std::in_place, *caller, machine::operation::wait_worker, site);
    }

    scope scope_;
};

}  // namespace selion::offload
