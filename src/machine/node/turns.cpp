// SPDX-License-Identifier: Apache-2.0
#include "machine/node/turns.hpp"

#include <algorithm>
#include <span>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace selion::machine::node {

void note_lost_turn(detail::turn_record& record, std::int64_t now, std::int64_t ticks) noexcept {
    const std::int64_t counted = std::min(ticks, most_turn_ticks);
    if (record.quick_ticks >= counted) {
        record.turns_slept = 0;
    } else {
        const std::int64_t more = std::min(record.turns_slept * 2, most_turns_slept);
        record.turns_slept = std::max(more, first_turns_slept);
    }
    record.quick_ticks = 0;
    record.sleeps_until = now + counted * record.turns_slept;
}

namespace {

bool has_processor_number() noexcept {
#if defined(__x86_64__)
    constexpr unsigned extended_features = 0x80000001;
    constexpr unsigned rdtscp_bit = 1U << 27;
    unsigned words[4] = {};
    return __get_cpuid(extended_features, &words[0], &words[1], &words[2], &words[3]) != 0 &&
           (words[3] & rdtscp_bit) != 0;
#else
    return sched_getcpu() >= 0;
#endif
}

/// How the processor was used by those who know each other, as their call records say.
struct processor_use {
    std::int64_t idle_ticks;  ///< since the last of them has left it
    bool is_interrupted;      ///< one of them is not away
    bool is_known_lost;       ///< one has found that others had it
};

processor_use use_by_others(const detail::rank_context& context, turn_moment now,
                            std::int64_t ticks) {
    processor_use use{ticks, false, false};
    const auto ago = [&](std::int64_t moment) {
        const bool is_here = moment != 0 && ((moment ^ now.processor) & processor_bits) == 0;
        return is_here ? now.ticks - (moment & ~place_bits) : INT64_MAX;
    };
    for (const call_record& sharer : std::span(context.sharers, context.sharer_count)) {
        if (&sharer == context.call) continue;
        if (ago(look_at(sharer.lost_at)) < ticks) use.is_known_lost = true;
        const std::int64_t moment = look_at(sharer.left_at);
        if ((moment & away_bit) != 0) {
            use.idle_ticks = std::min(use.idle_ticks, ago(moment));
        } else if (ago(moment) < longest_stay_ticks) {
            use.is_interrupted = true;
        }
    }
    return use;
}

}  // namespace

bool can_tell_processors() noexcept {
    static const bool can = has_processor_number();  // virtual machines take long to tell
    return can;
}

/// After a turn that took long: who has had the processor? A rank has if one has left it just now,
/// or has been interrupted there while it computed; but others have if one has found that since.
void turn_watch::look_back(turn_moment now, std::int64_t ticks) noexcept {
    std::int64_t lost = ticks;
    if (knows_others()) {
        const processor_use use = use_by_others(*context_, now, ticks);
        if (!use.is_known_lost) lost = use.is_interrupted ? 0 : use.idle_ticks;
    }
    if (lost < long_turn_ticks) return;
    note_lost_turn(*record_, now.ticks, lost);
    if (knows_others() && !context_->is_foreign_thread)
        publish(context_->call->lost_at, packed(now));
}

}  // namespace selion::machine::node
