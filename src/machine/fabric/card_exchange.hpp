// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "machine/fabric/card.hpp"
#include "machine/fabric/launcher_link.hpp"

namespace selion::machine::fabric {

/// How the ranks of a job get each other's cards when it starts.
class card_exchange {
public:
    /// @param number of the job in this process; all processes have run as many.
    card_exchange(launcher_link& launched, std::uint32_t number, rank_card own);

    /// Leaves the own card and waits for the others'. Ranks 0 and 1 say once who is awaited.
    /// @param told_after_ns 0: never. @param given_up_after_ns 0: never.
    /// @param give_up ends the job.
    void gather(std::int64_t told_after_ns, std::int64_t given_up_after_ns,
                const std::function<void()>& give_up);
    /// The card of another rank, checked. @error system_failure (thrown)
    rank_card read(std::uint32_t rank);
    const rank_card& own() const { return own_; }

private:
    std::string late_text(std::int64_t waited_ns);
    /// Ranks may be renumbered once all cards are there.
    std::uint32_t own_rank() const { return launched_.place().rank; }

    launcher_link& launched_;
    std::string key_;
    rank_card own_;
};

}  // namespace selion::machine::fabric
