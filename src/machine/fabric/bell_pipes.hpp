// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "machine/node/shared_mapping.hpp"

namespace selion::machine::fabric {

/// Pipes beside the doorbells of a mapping: a thread that sleeps on one can sleep on the network as
/// well, and a thread of any process of the host can ring, because it finds the pipe by process and
/// descriptor in /proc. What was written stays readable until the sleeper has read it.
class bell_pipes {
public:
    explicit bell_pipes(const node::shared_mapping& mapping);
    ~bell_pipes();
    bell_pipes(const bell_pipes&) = delete;
    bell_pipes& operator=(const bell_pipes&) = delete;

    /// Before the thread of this process that owns the bell sleeps for the first time.
    void open(std::uint32_t bell);
    /// To sleep on; -1: none could be had.
    int file(std::uint32_t bell) const { return ends_[bell].out; }
    /// By its owner: takes away what ringers have written.
    void hush(std::uint32_t bell);
    /// By anybody.
    void ring(std::uint32_t bell);

private:
    struct pipe_ends {
        int out = -1;              ///< of bells of this process
        std::atomic<int> in = -1;  ///< of all that were rung
    };
    int find(const node::doorbell& bell) const;

    const node::shared_mapping& mapping_;
    std::deque<pipe_ends> ends_;
};

}  // namespace selion::machine::fabric
