// SPDX-License-Identifier: Apache-2.0
#include "machine/node/turns.hpp"

#include <algorithm>
#include <span>

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

/// After a turn that took long: who has had the processor? A rank has if one has left it just now,
/// or has been interrupted there while it computed; others have if one has found that since.
void turn_watch::look_back(turn_moment now, std::int64_t ticks) noexcept {
    std::int64_t lost = ticks;
    if (context_ != nullptr) {
        for (const call_record& sharer : std::span(context_->sharers, context_->sharer_count)) {
            const std::int64_t left_at = look_at(sharer.left_at);
            const std::int64_t lost_at = look_at(sharer.lost_at);
            const auto is_here = [&](std::int64_t moment) {
                return moment != 0 && ((moment ^ now.processor) & processor_bits) == 0;
            };
            if (is_here(lost_at) && now.ticks - lost_at < ticks) {
                lost = ticks;
                break;
            }
            if (!is_here(left_at) || &sharer == context_->call) continue;
            if ((left_at & away_bit) == 0) return;
            lost = std::min(lost, now.ticks - (left_at & ~place_bits));
        }
    }
    if (lost < long_turn_ticks) return;
    note_lost_turn(*record_, now.ticks, lost);
    if (context_ != nullptr) publish(context_->call->lost_at, packed(now));
}

}  // namespace selion::machine::node
