// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <selion/selion.hpp>

#include "harness/settings.hpp"
#include "harness/timing.hpp"

namespace bench {

/// Does something `count` times. All ranks call it at the same time; it returns the nanoseconds
/// that the calling rank measured, 0 from a rank that did not measure.
using loop = std::function<std::int64_t(std::uint64_t count)>;

/// One way to do what a contest is about.
struct contestant {
    std::string name;
    loop run;
};

/// One operation, done by Selion (the first contestant) and by its rivals.
struct contest {
    std::string operation;
    std::vector<contestant> contestants;
    double operations_per_count = 1;  ///< 2 for a round trip that is reported as one way
    /// Its times depend on how far apart the cores are, which on a virtual machine changes while
    /// it runs. Then each round says what a signal took, and is played again if that changed.
    bool crosses_cores = false;
};

/// A loop that every rank measures.
template <class Body>
loop on_all(Body body) {
    return [body](std::uint64_t count) mutable {
        const std::int64_t start = now_ns();
        body(count);
        return now_ns() - start;
    };
}

/// A loop that rank 0 runs and measures while the others wait.
template <class Body>
loop on_first(const selion::world& world, Body body) {
    return [body, works = world.rank() == 0](std::uint64_t count) mutable -> std::int64_t {
        if (!works) return 0;
        const std::int64_t start = now_ns();
        body(count);
        return now_ns() - start;
    };
}

/// Measures all contests, interleaved in an order that the seed gives, and prints one JSON line for
/// each contestant with its nanoseconds per operation, one number a round.
/// @param probe counts signals between two cores; empty if no contest crosses cores.
void measure(selion::world& world, const std::vector<contest>& contests, const loop& probe,
             const settings& how);

}  // namespace bench
