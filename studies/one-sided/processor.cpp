// SPDX-License-Identifier: Apache-2.0
#include "processor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <selion/charge.hpp>

namespace one_sided {
namespace {

/// Each step needs the one before, so a step always takes as long.
void floating_point_loop(std::uint64_t steps) {
    double value = 1;
    for (std::uint64_t i = 0; i < steps; ++i) {
        value = value * 0.5 + 0.5;
        asm volatile("" : "+x"(value));  // or the loop would be left out
    }
}

}  // namespace

bool interrupts_ranks(const selion::world& world) {
    return world.machine().spec.find("progress=interrupt") != std::string::npos;
}

processor::processor(const selion::world& world) {
    if (!world.machine().capabilities.real_time) return;
    constexpr std::uint64_t steps = 100'000;
    constexpr int tries = 7;  // the fastest is the one that nobody interrupted
    std::int64_t shortest_ns = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < tries; ++i) {
        const std::int64_t start_ns = world.now();
        floating_point_loop(steps);
        shortest_ns = std::min(shortest_ns, world.now() - start_ns);
    }
    steps_per_ns_ =
        static_cast<double>(steps) / static_cast<double>(std::max<std::int64_t>(1, shortest_ns));
}

void processor::compute(double nanoseconds) const {
    if (nanoseconds <= 0) return;
    if (steps_per_ns_ == 0) {
        return selion::charge({.picoseconds = std::llround(nanoseconds * 1000)});
    }
    floating_point_loop(static_cast<std::uint64_t>(std::llround(nanoseconds * steps_per_ns_)));
}

}  // namespace one_sided
