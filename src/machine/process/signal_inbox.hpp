// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <vector>

namespace selion::machine {

/// Signals that the caller's thread, and threads and processes that it starts meanwhile, do not get
/// but a file descriptor reports. Signals that the program handles itself are left to it.
///
/// Interrupts are the same, but no thread is kept from getting them except the one that reads: what
/// other threads start shall still end by Ctrl-C.
class signal_inbox {
public:
    /// Throws `error(status::system_failure)` when the process has no file descriptor left.
    /// @param interrupts also those that the program has blocked are left to it.
    explicit signal_inbox(std::initializer_list<int> signals,
                          std::initializer_list<int> interrupts = {});
    ~signal_inbox();
    signal_inbox(const signal_inbox&) = delete;
    signal_inbox& operator=(const signal_inbox&) = delete;

    int file() const { return file_; }
    /// From now on the calling thread reads, and what others are given comes to it.
    void read_here();
    /// @return a signal that has arrived, or 0. An interrupt ends the process the next time.
    int take();
    /// The calling thread's signals as they were before; for a process just forked.
    void restore_mask() const;

private:
    unsigned char old_mask_[128];
    std::vector<int> handed_on_;   ///< by a handler of ours, whatever thread gets them
    std::vector<int> interrupts_;  ///< of those
    int file_;
};

}  // namespace selion::machine
