// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "machine/fabric/card.hpp"
#include "machine/fabric/launcher_link.hpp"
#include "machine/fabric/rank_places.hpp"

namespace selion::machine::fabric {

/// How the processes of a job get each other's cards when it starts.
class card_exchange {
public:
    /// @param number of the job in this process; all processes have run as many.
    card_exchange(launcher_link& launched, rank_places& ranks, std::uint32_t number,
                  process_card own);

    /// Leaves the own card and waits for the others'. The first of those who have come says once
    /// who is awaited.
    /// @param told_after_ns 0: never. @param given_up_after_ns `no_deadline`: never.
    /// @param give_up ends the job.
    void gather(std::int64_t told_after_ns, std::int64_t given_up_after_ns,
                const std::function<void()>& give_up);
    /// The card of another process, checked, whose host is noted. @error system_failure (thrown)
    process_card read(std::uint32_t process);
    const process_card& own() const { return own_; }

private:
    bool is_first_there();
    std::string late_text(std::int64_t waited_ns, std::int64_t given_up_after_ns);
    error no_card(std::uint32_t process, bool has_left_one) const;
    /// Processes may be renumbered once all cards are there.
    std::uint32_t own_process() const { return launched_.place().process; }

    launcher_link& launched_;
    rank_places& ranks_;
    std::uint32_t number_;
    std::string key_;
    process_card own_;
};

}  // namespace selion::machine::fabric
