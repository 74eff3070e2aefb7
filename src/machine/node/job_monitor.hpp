// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "machine/node/hang_report.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/shared_mapping.hpp"

namespace selion::machine::node {

/// Signals that the caller's thread, and threads and processes that it starts meanwhile, do not get
/// but a file descriptor reports. Signals that the program handles itself are left to it.
class signal_inbox {
public:
    /// Throws `error(status::system_failure)` when the process has no file descriptor left.
    explicit signal_inbox(std::initializer_list<int> signals);
    ~signal_inbox();
    signal_inbox(const signal_inbox&) = delete;
    signal_inbox& operator=(const signal_inbox&) = delete;

    int file() const { return file_; }
    /// @return a signal that has arrived, or 0.
    int take();
    /// The calling thread's signals as they were before; for a process just forked.
    void restore_mask() const;

private:
    void hand_on_from_others(bool is_wanted);

    unsigned char old_mask_[128];
    bool hands_on_ = false;
    int file_;
};

/// Watches the ranks of a job from outside and explains hangs.
class job_monitor {
public:
    job_monitor(const job_setting& setting, const shared_mapping& mapping);

    /// How long a poll may take before `sample` is due; -1 for ever.
    int poll_timeout_ms() const;
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
