// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "machine/fabric/fabric_waiter.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine::fabric {

/// A thread that serves what others want of a rank that computes (progress=interrupt). It sleeps on
/// the network, and leaves to the rank's own threads what comes while one of them waits.
class interrupts {
public:
    /// @param rank is copied.
    interrupts(sleeping_place& place, const detail::rank_context& rank);
    /// Ends the thread.
    ~interrupts();
    interrupts(const interrupts&) = delete;
    interrupts& operator=(const interrupts&) = delete;

private:
    void run();
    bool linger();
    void sleep();

    sleeping_place& place_;
    detail::rank_context context_;  ///< its own copy
    std::int64_t linger_ns_;
    detail::turn_record turns_{};
    std::atomic<bool> is_ending_ = false;
    std::thread thread_;
};

}  // namespace selion::machine::fabric
