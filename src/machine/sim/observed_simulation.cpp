// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/observed_simulation.hpp"

#include <fmt/format.h>

namespace selion::machine::sim {

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
    return turn_of_rank{rank, false};
}

}  // namespace selion::machine::sim
