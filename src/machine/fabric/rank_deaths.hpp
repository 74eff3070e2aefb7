// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "machine/death_list.hpp"
#include "machine/machine.hpp"

namespace selion::machine::fabric {

class port;

/// What one rank knows and does about others that die while the job goes on: "Deaths that are
/// reported" in protocol.md.
class rank_deaths {
public:
    explicit rank_deaths(std::uint32_t ranks) : list_(ranks) {}

    death_list& list() { return list_; }
    /// Before any is buried. @param lose_answers settles what a dead rank owed to the floors above.
    void open(port& frames,
              std::function<void(detail::rank_context& server, std::uint32_t rank)> lose_answers) {
        frames_ = &frames;
        lose_answers_ = std::move(lose_answers);
    }

    /// Whether a death is not settled yet.
    bool has_news() const { return list_.declared() != list_.told(); }
    /// Whoever serves looks. @param may_bury it has its turn, and settles what is not settled yet
    void look(detail::rank_context& server, bool may_bury) {
        if (may_bury && has_news()) bury(server);
        if (list_.told() != 0) take_the_long_way();
    }

private:
    void bury(detail::rank_context& server);

    death_list list_;
    port* frames_ = nullptr;
    std::function<void(detail::rank_context& server, std::uint32_t rank)> lose_answers_;
    std::atomic_flag buries_;  ///< one thread at a time
};

}  // namespace selion::machine::fabric
