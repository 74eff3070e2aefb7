// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "collectives/tuning/cost_model.hpp"
#include "selion/schedule.hpp"

namespace selion::collectives {

/// Plays a schedule by the clock, over lines and, between nodes, by messages: when each member has
/// done its steps.
class schedule_clock {
public:
    schedule_clock(const host_costs& host, const team_shape& team, const block_shape& block,
                   schedule_request request);

    /// @return nanoseconds until the last member is done.
    double run();

private:
    struct member {
        rank_schedule own;
        std::size_t step = 0;
        bool has_sent = false;      ///< the messages of this step
        bool has_received = false;  ///< those as well
        double now = 0;
        double busy = 0;               ///< own work so far
        std::uint32_t waits = 0;       ///< steps in which it had to receive
        double taken = 0;              ///< when what it has lent in this step has been read
        std::uint32_t still_lent = 0;  ///< messages of this step that have not been

        bool is_done() const { return step == own.steps.size(); }
    };
    struct letter {
        double arrives;
        double kib;
        bool is_lent;  ///< read where it lies, and the sender waits for that
    };

    bool go_on(std::uint32_t number);
    void send(std::uint32_t number);
    bool crosses(std::uint32_t from, std::uint32_t to) const;
    bool has_all(std::uint32_t number) const;
    void receive(std::uint32_t number);
    void work(member& who, double ns);
    double kib_of(const schedule_message& message) const;
    double total() const;

    const host_costs& host_;
    team_shape team_;
    double block_kib_ = 0;
    std::vector<member> members_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<letter>> under_way_;
};

}  // namespace selion::collectives
