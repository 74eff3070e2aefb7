// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <sched.h>

#include "machine/node/doorbell.hpp"
#endif

#include "machine/call_record.hpp"
#include "machine/node/yield.hpp"
#include "selion/detail/rank_context.hpp"

/// Yielding while ranks wait for each other costs a microsecond where only they want the
/// processors. Beside a program that computes, the kernel gives that one the processor for its
/// whole slice, milliseconds, each time: a hundred times what it takes to sleep and be woken, since
/// who has slept comes before who computes. So a thread notices when others than the job's ranks
/// have kept it from the processor, and sleeps instead of yielding for some time.
namespace selion::machine::node {

/// A time that somebody else has had the processor counts from here on: in ticks of its counter,
/// 0.3 to 0.5 ms. The kernel's usual slices are longer.
inline constexpr std::int64_t long_turn_ticks = std::int64_t{1} << 20;
/// Of such a time no more counts: a host may have stood still.
inline constexpr std::int64_t most_turn_ticks = std::int64_t{1} << 24;
/// How many times as long as the turn took the thread sleeps instead of yielding: few the first
/// time, since the other may be gone; more each time that the next try finds the same.
inline constexpr std::int64_t first_turns_slept = 4;
inline constexpr std::int64_t most_turns_slept = 32;

/// Others have had the processor for so long. If all turns since they last had have taken as long
/// together, little is lost, and sleeping may be slower.
void note_lost_turn(detail::turn_record& record, std::int64_t now, std::int64_t ticks) noexcept;

/// Whether the thread sleeps now instead of yielding.
inline bool yields_take_long(const detail::turn_record& record, std::int64_t now) noexcept {
    const std::int64_t left = record.sleeps_until - now;
    return left > 0 && left <= most_turn_ticks * most_turns_slept;  // else the counter went back
}

/// The processor's counter. Only differences of some length count, so it does not matter at which
/// rate it counts.
inline std::int64_t turn_ticks() noexcept {
#if defined(__x86_64__)
    return static_cast<std::int64_t>(__rdtsc());
#else
    return steady_now_ns() * 2;
#endif
}

/// When and on which processor.
struct turn_moment {
    std::int64_t ticks;
    std::uint32_t processor;
};
/// Without the C library where that can be: see `yield_processor`. @pre `can_tell_processors`
inline turn_moment turn_now() noexcept {
#if defined(__x86_64__)
    std::uint32_t where = 0;  // as Linux has it: node and processor
    const auto ticks = static_cast<std::int64_t>(__rdtscp(&where));
    return {ticks, where};
#else
    return {turn_ticks(), static_cast<std::uint32_t>(sched_getcpu())};
#endif
}
/// Not on a few old processors, and virtual ones that are like them.
bool can_tell_processors() noexcept;

/// What is a long turn where so many ranks share so many processors: what it takes to let all of a
/// processor run once, six microseconds each, is none.
constexpr std::int64_t long_turn_ticks_of(std::int64_t ranks, std::int64_t processors) noexcept {
    constexpr std::int64_t ticks_of_one = std::int64_t{1} << 14;
    return long_turn_ticks + ranks / std::max(processors, std::int64_t{1}) * ticks_of_one;
}

/// A moment in one word: the processor's number in the last bits of the ticks, and before these
/// whether the thread is away since.
inline constexpr std::int64_t processor_bits = (std::int64_t{1} << 12) - 1;
inline constexpr std::int64_t away_bit = std::int64_t{1} << 12;
inline constexpr std::int64_t place_bits = processor_bits | away_bit;
constexpr std::int64_t packed(turn_moment moment) noexcept {
    return (moment.ticks & ~place_bits) | (moment.processor & processor_bits);
}

/// A rank that came back to its processor longer ago, and is not away, is blocked somewhere rather
/// than computing; or it computes for so long that those who wait for it may as well sleep.
inline constexpr std::int64_t longest_stay_ticks = std::int64_t{1} << 26;

/// A thread's yields. A rank's own thread leaves behind when and where it has left a processor, and
/// then when and where it has come back: so who comes back after long knows whether it was a rank
/// that has had the processor until now, which only yields again. In its call record: after a turn
/// few of a thread's pages can be reached without a walk through tables, and that one is needed
/// anyway.
class turn_watch {
public:
    /// Of a thread that is no rank's: whoever has had the processor for long counts.
    explicit turn_watch(detail::turn_record& record) : record_(&record) {}
    /// Of a rank's thread, or of one that has joined it.
    explicit turn_watch(detail::rank_context& context)
        : record_(&context.own.turns), context_(&context) {}

    /// Lets other threads run, unless that has taken long lately. @return whether it did.
    bool yield_if_quick() noexcept {
        const turn_moment before = now();
        if (yields_take_long(*record_, before.ticks)) return false;
        yield_from(before);
        return true;
    }
    /// The same in any case: nothing is there to sleep on.
    void yield() noexcept { yield_from(now()); }
    /// Tells that the thread sleeps in `sleep`.
    template <class Sleep>
    void leave_for(Sleep sleep) noexcept {
        tell(now(), away_bit);
        sleep();
        tell(now(), 0);
    }
    bool should_sleep() const noexcept { return yields_take_long(*record_, turn_ticks()); }

private:
    friend class turn_watch_test;
    bool knows_others() const noexcept {
        return context_ != nullptr && context_->sharer_count != 0;
    }
    turn_moment now() const noexcept {
        return knows_others() ? turn_now() : turn_moment{turn_ticks(), 0};
    }
    void yield_from(turn_moment before) noexcept {
        tell(before, away_bit);
        yield_processor();
        const turn_moment after = now();
        tell(after, 0);
        const std::int64_t ticks = after.ticks - before.ticks;
        if (ticks < (knows_others() ? context_->long_turn_ticks : long_turn_ticks)) [[likely]]
            record_->quick_ticks += ticks;
        else
            look_back(after, ticks);
    }
    void tell(turn_moment when, std::int64_t is_away) noexcept {
        if (knows_others() && !context_->is_foreign_thread)
            publish(context_->call->left_at, packed(when) | is_away);
    }
    void look_back(turn_moment now, std::int64_t ticks) noexcept;

    detail::turn_record* record_;
    detail::rank_context* context_ = nullptr;
};

}  // namespace selion::machine::node
