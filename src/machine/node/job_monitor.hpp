// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/node/hang_report.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/shared_mapping.hpp"
#include "machine/process/hang_setting.hpp"

namespace selion::machine::node {

/// Watches the ranks of a job from outside and explains hangs.
class job_monitor {
public:
    job_monitor(const job_setting& setting, const shared_mapping& mapping);

    /// How long a poll may take before `sample` is due; -1 for ever.
    int poll_timeout_ms() const { return sample_period_ms(setting_.hang_timeout_ns); }
    /// Reports a hang if one has just become one. @return whether the job shall end for it.
    bool sample();
    /// Prints who waits for whom.
    void explain() const;

private:
    const job_setting& setting_;
    const shared_mapping& mapping_;
    hang_watch watch_;
};

}  // namespace selion::machine::node
