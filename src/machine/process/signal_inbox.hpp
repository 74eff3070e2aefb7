// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

namespace selion::machine {

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

}  // namespace selion::machine
