// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/spec.hpp"

namespace selion::machine::node {

/// Numbers of the job's doorbells: of carriers, then of threads that join ranks, process by
/// process, of the processes' notifiers, and of threads beside ranks.
struct bell_layout {
    node_shape shape;
    std::uint32_t joined_threads = 0;  ///< of each process
    bool has_notifiers = false;        ///< and threads beside ranks

    std::uint32_t of_carrier(std::uint32_t rank) const { return shape.carrier_of(rank); }
    std::uint32_t of_joined(std::uint32_t process, std::uint32_t thread) const {
        return shape.carriers() + process * joined_threads + thread;
    }
    std::uint32_t of_notifier(std::uint32_t process) const {
        return shape.carriers() + shape.processes * joined_threads + process;
    }
    std::uint32_t of_beside(std::uint32_t rank) const {
        return of_notifier(shape.processes) + rank;
    }
    /// On which threads sleep that may wait for words of a rank's own: the rank, the thread beside
    /// it, and those that have joined ranks of its process. @param joined of them, so far.
    template <class Use>
    void each_of(std::uint32_t rank, std::uint32_t joined, Use use) const {
        use(of_carrier(rank));
        if (has_notifiers) use(of_beside(rank));
        for (std::uint32_t i = 0; i < joined; ++i) use(of_joined(process_of(rank), i));
    }
    std::uint32_t process_of(std::uint32_t rank) const { return rank / shape.ranks_per_process; }
    std::uint32_t count() const {
        return has_notifiers ? of_beside(shape.ranks()) : of_notifier(0);
    }
};

}  // namespace selion::machine::node
