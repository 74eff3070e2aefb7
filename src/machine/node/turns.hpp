// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "machine/node/yield.hpp"
#include "selion/detail/rank_context.hpp"
#if !defined(__x86_64__)
#include "machine/node/doorbell.hpp"
#endif

/// Yielding while ranks wait for each other costs a microsecond where only they want the
/// processors. Beside a thread that computes, of another program or of a rank, the kernel gives
/// that one the processor for its whole slice, milliseconds, each time: a hundred times what it
/// takes to sleep and be woken, since who has slept comes before who computes. So a thread notices
/// when its turn was long in coming back, and sleeps instead of yielding for some time.
namespace selion::machine::node {

/// Ticks of the processor's counter, a quarter to half a millisecond: the kernel's shortest slices
/// are longer.
inline constexpr std::int64_t shortest_long_turn_ticks = std::int64_t{1} << 20;
/// The same for each thread that shares the processor, some 100 microseconds: several times what it
/// takes them all to fall asleep and be woken once. Below that, yielding is no slower.
inline constexpr std::int64_t long_turn_ticks_of_one = std::int64_t{1} << 18;
/// Of a turn, however long, no more counts: a host may have stood still.
inline constexpr std::int64_t most_turn_ticks = std::int64_t{1} << 24;
/// How many times as long as the turn took the thread sleeps instead of yielding: few the first
/// time, since it may be that ranks compute now and will be quick again; more each time that the
/// next try finds the same.
inline constexpr std::int64_t first_turns_slept = 4;
inline constexpr std::int64_t most_turns_slept = 32;

/// Without the C library: see `yield_processor`. Only differences of some length count, so it does
/// not matter at which rate the counter counts.
inline std::int64_t turn_ticks() noexcept {
#if defined(__x86_64__)
    return static_cast<std::int64_t>(__rdtsc());
#else
    return steady_now_ns() * 2;
#endif
}

/// A yield has taken long. If yields have been quick for as long before, little is lost, and
/// sleeping may be slower.
inline void note_long_turn(detail::turn_record& record, std::int64_t before,
                           std::int64_t after) noexcept {
    const std::int64_t ticks = std::min(after - before, most_turn_ticks);
    if (before - record.sleeps_until >= ticks) {
        record.turns_slept = 0;
    } else {
        const std::int64_t more = std::min(record.turns_slept * 2, most_turns_slept);
        record.turns_slept = std::max(more, first_turns_slept);
    }
    record.sleeps_until = after + ticks * record.turns_slept;
}

/// Lets other threads run, unless that has taken longer than `long_ticks` lately.
/// @return whether it did.
inline bool yield_if_quick(detail::turn_record& record, std::int64_t long_ticks) noexcept {
    const std::int64_t before = turn_ticks();
    if (before < record.sleeps_until) return false;
    yield_processor();
    const std::int64_t after = turn_ticks();
    if (after - before > long_ticks) [[unlikely]]
        note_long_turn(record, before, after);
    return true;
}

}  // namespace selion::machine::node
