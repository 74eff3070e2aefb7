// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/node/shared_mapping.hpp"
#include "machine/process/hang_setting.hpp"

namespace selion::machine::node {

/// Who waits for whom, one line for each collective and each signal that somebody waits in.
std::string explain_waits(const shared_mapping& mapping, bool compares_calls = false);

/// Notices that a rank waits for too long. Needs no clock of the ranks: it compares samples.
class hang_watch {
public:
    /// @param timeout_ns how long a wait may last; 0 never reports.
    hang_watch(const shared_mapping& mapping, std::int64_t timeout_ns);

    /// @return whether a wait has just become too long; once for each wait.
    bool sample(std::int64_t now_ns);

private:
    struct observation {
        std::uint64_t entries = 0;
        std::int64_t since_ns = 0;
        bool was_reported = false;
    };
    const shared_mapping& mapping_;
    std::int64_t timeout_ns_;
    watched_time time_;
    std::vector<observation> seen_;
};

}  // namespace selion::machine::node
