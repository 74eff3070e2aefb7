// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/rows.hpp"

namespace calibrate {

/// How often things are measured.
struct effort {
    std::size_t samples = 501;  ///< blocks that are timed for one figure
    std::size_t pairs = 4;      ///< pairs of cores for each distance, at most
};

inline std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Makes the compiler forget what it knows of memory, so that no access is merged or moved.
inline void clobber() { asm volatile("" ::: "memory"); }

/// Makes the compiler compute a value that nobody uses.
template <class T>
void consume(const T& value) {
    asm volatile("" : : "r"(value) : "memory");
}

/// Makes the compiler believe that a value may be any.
template <class T>
void conceal(T& value) {
    asm volatile("" : "+r"(value));
}

/// What Selion's waits do between two looks.
inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

/// Nanoseconds of one step of `body(steps)`. Blocks last about 20 us: the clock is 0.2 % of that,
/// and where other programs run, most blocks lie between two interruptions, so that their median
/// is that of an idle core.
template <class Body>
study::spread time_steps(const effort& how, Body body) {
    constexpr std::int64_t block_ns = 20'000;
    constexpr std::uint64_t most_steps = std::uint64_t{1} << 20;
    const auto block = [&](std::uint64_t steps) {
        const std::int64_t start = now_ns();
        body(steps);
        return now_ns() - start;
    };
    std::uint64_t steps = 1;
    while (steps < most_steps && block(steps) < block_ns) steps *= 2;
    std::vector<double> each;
    for (std::size_t i = 0; i < how.samples; ++i) {
        each.push_back(static_cast<double>(block(steps)) / static_cast<double>(steps));
    }
    return study::spread_of(each);
}

}  // namespace calibrate
