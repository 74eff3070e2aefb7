// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "machine/sim/description/run_setting.hpp"
#include "machine/sim/engine/virtual_time.hpp"

namespace selion::machine::sim {

/// Makes messages late, by a seed, as far as a real network could: what one rank sends to another
/// keeps its order, everything else may change places. Where ranks share memory, it is accesses
/// that are late.
class perturbation {
public:
    /// @param retransmission how often a rank sends again what got lost.
    perturbation(const run_setting& setting, tick_length tick, ticks retransmission);

    bool is_on() const { return is_on_; }
    struct arrival_time {
        ticks at;
        bool is_behind;  ///< at the same time comes another one of the two ranks, before it
    };
    /// A message that would arrive now.
    struct passage {
        std::uint32_t from;
        std::uint32_t to;
        ticks now;
        ticks flight;    ///< how long it was on its way: others under way change places with it
        bool has_wires;  ///< else nothing delays or loses it; it may be late all the same
    };
    /// When it does arrive.
    arrival_time arrival(const passage& what);
    /// How late an exploration lets something be that takes so long by itself; 0 without one.
    ticks explored_lateness(ticks flight);

private:
    std::uint64_t draw();
    bool happens(std::uint64_t threshold) { return threshold != 0 && draw() <= threshold; }
    ticks arrival_by_wires(ticks now, ticks flight);

    bool is_on_ = false;
    exploration how_;
    ticks delay_ = 0;
    std::uint64_t delay_threshold_ = 0;  ///< of 2^64
    std::uint64_t loss_threshold_ = 0;
    ticks retransmission_;
    std::uint64_t state_;
    std::uint64_t messages_ = 0;
    std::uint64_t next_late_ = 0;  ///< number of the next message that is very late
    std::unordered_map<std::uint64_t, ticks> last_arrival_;  ///< of each pair
};

}  // namespace selion::machine::sim
