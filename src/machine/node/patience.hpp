// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/node/doorbell.hpp"
#include "machine/node/turns.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::node {

/// How long a thread that has nothing to do stays awake, by time: counts of iterations mean
/// different times on different processors.
struct patience {
    std::int64_t spin_ns;   ///< looks again and again
    std::int64_t yield_ns;  ///< then lets others run between looks; then it sleeps
    /// It sleeps earlier when its turn takes longer than this to come back.
    std::int64_t long_turn_ticks = shortest_long_turn_ticks;
};

/// Looks before a rank takes the way to wait, where its thread has a core to itself: below the time
/// that a line takes to come from another core several times over.
inline constexpr std::uint32_t brief_looks_with_core = 64;
/// The same where threads share cores: enough for every other thread to have had several turns.
inline constexpr std::uint32_t brief_yields_without_core = 32;

/// Patience of a job whose threads all have a core of their own, and of one with more threads than
/// cores, where spinning only keeps the awaited thread from running.
inline constexpr patience patience_with_cores{50'000, 150'000};
inline constexpr patience patience_without_cores{0, 2'000'000};

enum class idle_outcome { arrived, late, tired };

/// Looks until something arrives, the deadline passes, or patience ends: also when yielding takes
/// long.
/// @param turns the calling thread's.
/// @param arrived called often; true ends the wait.
/// @param rest between looks while it spins.
template <class Look, class Rest = void (*)()>
idle_outcome stay_awake(
    const patience& how, detail::turn_record& turns, std::int64_t deadline_ns, Look arrived,
    Rest rest = [] { detail::pause_processor(); }) {
    constexpr int looks_per_clock = 64;
    constexpr int yields_per_clock = 4;
    if (how.spin_ns > 0) {
        std::int64_t end_ns = 0;
        // At first without a rest: an answer from the same cache takes hardly longer than one.
        for (int i = 0; i < looks_per_clock; ++i) {
            if (arrived()) return idle_outcome::arrived;
        }
        do {
            for (int i = 0; i < looks_per_clock; ++i) {
                if (arrived()) return idle_outcome::arrived;
                rest();
            }
            const std::int64_t now_ns = steady_now_ns();
            if (end_ns == 0) end_ns = now_ns + how.spin_ns;
            if (now_ns >= deadline_ns) return idle_outcome::late;
            if (now_ns >= end_ns) break;
        } while (true);
    }
    for (std::int64_t end_ns = 0;;) {
        for (int i = 0; i < yields_per_clock; ++i) {
            if (arrived()) return idle_outcome::arrived;
            if (yield_if_quick(turns, how.long_turn_ticks)) continue;
            if (arrived()) return idle_outcome::arrived;
            return steady_now_ns() >= deadline_ns ? idle_outcome::late : idle_outcome::tired;
        }
        const std::int64_t now_ns = steady_now_ns();
        if (end_ns == 0) end_ns = now_ns + how.yield_ns;
        if (now_ns >= deadline_ns) return idle_outcome::late;
        if (now_ns >= end_ns) return arrived() ? idle_outcome::arrived : idle_outcome::tired;
    }
}

}  // namespace selion::machine::node
