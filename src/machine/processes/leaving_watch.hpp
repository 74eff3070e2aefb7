// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "machine/node/job_setting.hpp"
#include "machine/node/shared_mapping.hpp"
#include "machine/process/hang_setting.hpp"

namespace selion::machine {

struct child_process {
    pid_t id = 0;
    bool has_ended = false;
};

/// Notices that processes go on for too long after their ranks have returned: what runs as a
/// program leaves may be hung as well, and no call of a rank tells of it.
class leaving_watch {
public:
    leaving_watch(const node::job_setting& setting, const node::shared_mapping& mapping);

    /// Reports such processes, once for each. @param children in the order of the job's processes.
    /// @param are_held_up by whoever does not read their output: that time does not count.
    /// @return whether the job shall end for it.
    bool sample(std::span<const child_process> children, bool are_held_up);

private:
    struct observation {
        std::int64_t since_ns = 0;  ///< 0: some rank has not returned
        bool was_reported = false;
    };
    void report(std::span<const child_process> children,
                const std::vector<std::uint32_t>& late) const;

    const node::job_setting& setting_;
    const node::shared_mapping& mapping_;
    watched_time time_;
    std::vector<observation> seen_;
};

}  // namespace selion::machine
