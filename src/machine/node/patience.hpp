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

/// Whose patience it is that may end, and when.
struct idle_terms {
    const patience& how_long;
    turn_watch turns;  ///< the calling thread's
    std::int64_t deadline_ns;
};

/// Looks until something arrives, the deadline passes, or patience ends; that is also when yielding
/// takes long.
/// @param arrived called often; true ends the wait.
/// @param rest between looks while it spins.
template <class Look, class Rest = void (*)()>
idle_outcome stay_awake(
    const idle_terms& terms, Look arrived, Rest rest = [] { detail::pause_processor(); }) {
    constexpr int looks_per_clock = 64;
    constexpr int yields_per_clock = 4;
    if (terms.how_long.spin_ns > 0) {
        std::int64_t end_ns = 0;
        // An answer from the same cache takes hardly longer than a rest.
        for (std::uint32_t look = 0; look < detail::near_looks; ++look) {
            if (arrived()) return idle_outcome::arrived;
            detail::rest_after_look(look);
        }
        do {
            for (int i = 0; i < looks_per_clock; ++i) {
                if (arrived()) return idle_outcome::arrived;
                rest();
            }
            const std::int64_t now_ns = steady_now_ns();
            if (end_ns == 0) end_ns = now_ns + terms.how_long.spin_ns;
            if (now_ns >= terms.deadline_ns) return idle_outcome::late;
            if (now_ns >= end_ns) break;
        } while (true);
    }
    turn_watch turns = terms.turns;
    bool yields = true;
    for (std::int64_t end_ns = 0;;) {
        for (int i = 0; i < yields_per_clock && yields; ++i) {
            if (arrived()) return idle_outcome::arrived;
            yields = turns.yield_if_quick();
        }
        const std::int64_t now_ns = steady_now_ns();
        if (end_ns == 0) end_ns = now_ns + terms.how_long.yield_ns;
        const bool is_late = now_ns >= terms.deadline_ns;
        // Who looks again and again, and never sleeps, must not keep others from the processor.
        if (is_late && !yields) turns.yield();
        if (is_late) return idle_outcome::late;
        if (now_ns >= end_ns || !yields)
            return arrived() ? idle_outcome::arrived : idle_outcome::tired;
    }
}

}  // namespace selion::machine::node
