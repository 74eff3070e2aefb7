// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "machine/fabric/port.hpp"

namespace selion::machine::fabric {

/// Sends batches that a rank has begun and, because it computes, does not send: from a thread of
/// the process that sleeps while there are none. A batch leaves within two periods.
class batch_timer {
public:
    batch_timer() = default;
    ~batch_timer();
    batch_timer(const batch_timer&) = delete;
    batch_timer& operator=(const batch_timer&) = delete;

    /// Before the first batch is begun. @param one outlives the timer.
    void watch(port& one) { ports_.push_back(&one); }
    /// A batch has been begun. Any thread; the port's lock may be held.
    void note_begun();

private:
    void run();
    bool send_old();

    std::vector<port*> ports_;
    std::mutex mutex_;  ///< of what follows
    std::condition_variable changed_;
    bool has_batches_ = false;  ///< some may be open
    bool is_asleep_ = false;
    bool is_ending_ = false;
    std::thread thread_;  ///< from the first batch on
};

}  // namespace selion::machine::fabric
