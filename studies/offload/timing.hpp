// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <selion/selion.hpp>

namespace offload {

/// Workers as this machine has them: its other ranks, or, where time is real, processes.
inline selion::worker_pool_options pool_options(const selion::world& world,
                                                std::optional<std::uint32_t> workers = {}) {
    const bool is_real = world.machine().capabilities.real_time;
    return {.workers = workers,
            .kind = is_real ? selion::worker_kind::process : selion::worker_kind::rank,
            .memory_bytes = is_real ? std::uint64_t{64} << 20 : 0,
            .depth = 1,
            // Waking a sleeper is no part of the model.
            .spin = std::chrono::milliseconds(200),
            .measures = true,
            .program = {}};
}

/// What a pool's beginning has left on the bus is over.
inline void settle(const selion::world& world) {
    selion::charge(selion::nanoseconds(100'000'000));
    static_cast<void>(world.now());
}

/// Microseconds of something that is done once; where time is real, the least of several times, of
/// which there are fewer the longer it takes. @param after called after each time, with whether it
/// was the least so far
template <class Body, class After>
double least_us(const selion::world& world, Body body, After after) {
    constexpr int most_times = 25;
    constexpr std::int64_t enough_ps = 1'000'000'000'000;
    const bool is_real = world.machine().capabilities.real_time;
    std::int64_t least_ps = INT64_MAX;
    std::int64_t all_ps = 0;
    for (int i = 0; i < (is_real ? most_times : 1) && all_ps < enough_ps; ++i) {
        const std::int64_t start_ps = world.now_ps();
        body();
        const std::int64_t taken_ps = world.now_ps() - start_ps;
        after(taken_ps < least_ps);
        least_ps = std::min(least_ps, taken_ps);
        all_ps += taken_ps;
    }
    return static_cast<double>(least_ps) * 1e-6;
}
template <class Body>
double least_us(const selion::world& world, Body body) {
    return least_us(world, body, [](bool) {});
}

}  // namespace offload
