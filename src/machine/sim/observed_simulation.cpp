// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/observed_simulation.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace selion::machine::sim {
namespace {

/// Whether a rank waits or is done, so that what happens on its stack is not its own code's doing.
/// One that asks for answer after answer waits at many a moment, too: it is looked at for a while.
bool lends_stack(const call_record& record) {
    constexpr int looks = 5;
    const auto entries = look_at(record.entries);
    for (int i = 0; i < looks; ++i) {
        if (look_at(record.has_finished) != 0) return true;
        if (look_at(record.is_waiting) == 0 || look_at(record.entries) != entries) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace

std::string observed_simulation::more_of(std::uint32_t number) const {
    if (!stands_still_) return {};
    const rank_state& rank = all_.ranks()[number];
    switch (rank.why) {
        case standstill::none:
        case standstill::word: return {};
        case standstill::answer: return ", for an answer";
        case standstill::quiet:
            return fmt::format(", for {} operations of its own to arrive", rank.under_way);
        case standstill::credit:
            return fmt::format(", until rank {} has room for another message", rank.creditor);
    }
    return {};
}

std::optional<turn_of_rank> observed_simulation::turn_of(const simulation& all, bool stands_still) {
    const std::uint32_t handler = all.seen_handler();
    const std::uint32_t rank = all.turn_now().rank;
    if (stands_still || rank >= all.ranks().size()) return std::nullopt;
    if (handler != simulation::no_rank) return turn_of_rank{handler, true};
    if (lends_stack(all.ranks()[rank].record)) return turn_of_rank{std::nullopt, true};
    return turn_of_rank{rank, false};
}

}  // namespace selion::machine::sim
