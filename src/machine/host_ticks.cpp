// SPDX-License-Identifier: Apache-2.0
#include "machine/host_ticks.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "machine/host/host.hpp"
#include "machine/machine.hpp"

namespace selion::machine {
namespace {

/// Whether the counter counts at the same rate whatever the processor does.
bool has_steady_counter() {
#if defined(__x86_64__)
    constexpr unsigned power_management = 0x80000007;
    constexpr unsigned invariant_bit = 1U << 8;
    unsigned words[4] = {};
    return __get_cpuid(power_management, &words[0], &words[1], &words[2], &words[3]) != 0 &&
           (words[3] & invariant_bit) != 0;
#else
    return false;
#endif
}

const bool counts_steadily = has_steady_counter();

/// Both clocks at one moment: of some pairs of looks the one with the least time between.
struct moment {
    double ns;
    double ticks;
};
moment look_at_both() {
    constexpr int tries = 9;
    moment best{};
    std::int64_t least = INT64_MAX;
    for (int i = 0; i < tries; ++i) {
        const std::int64_t before = host_ticks();
        const std::int64_t ns = host_time_ns();
        const std::int64_t after = host_ticks();
        if (after - before >= least) continue;
        least = after - before;
        best = {static_cast<double>(ns), static_cast<double>(before + least / 2)};
    }
    return best;
}

double measure_ticks_per_second() {
    if (!counts_steadily) return 1e9;
    constexpr double long_enough_ns = 5e6;
    const moment begun = look_at_both();
    while (static_cast<double>(host_time_ns()) - begun.ns < long_enough_ns) {
    }
    const moment over = look_at_both();
    return (over.ticks - begun.ticks) * 1e9 / (over.ns - begun.ns);
}

}  // namespace

std::int64_t host_ticks() {
#if defined(__x86_64__)
    if (counts_steadily) return static_cast<std::int64_t>(__rdtsc());
#endif
    return host_time_ns();
}

double host_ticks_per_second() {
    static const double rate = measure_ticks_per_second();
    return rate;
}

std::int64_t clock::stamp_ticks() { return host_ticks(); }

tick_scale clock::scale_of_ticks() { return {.per_second = host_ticks_per_second()}; }

}  // namespace selion::machine
