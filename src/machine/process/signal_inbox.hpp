// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <vector>

namespace selion::machine {

/// Signals that a file descriptor reports to one thread, which reads it. No other thread is kept
/// from getting them, whether it is older than the inbox or younger: a handler passes on what it is
/// given. So what other threads start has no signal blocked. Signals that the program handles
/// itself are left to it. One inbox at a time in a process.
///
/// Interrupts are those that end the process when they come again.
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
    /// The reading thread's signals as they were before; for a process just forked.
    void restore_mask() const;
    /// The reading thread wants nothing more to be read, and a signal to have the effect that it
    /// had before. Returns where the program ignores it or has blocked it.
    void have_effect(int number);

private:
    void stop();

    unsigned char mask_[128];      ///< of the reading thread, before it read
    pid_t reader_ = 0;             ///< that thread; 0: none yet
    std::vector<int> handed_on_;   ///< by a handler of ours, whatever thread gets them
    std::vector<int> interrupts_;  ///< of those
    int file_;
};

}  // namespace selion::machine
