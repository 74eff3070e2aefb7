// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine/sim/transfer.hpp"

namespace selion::machine::sim {

/// Requests of one rank on a network where some overtake others: on a mesh, reads travel by wires
/// of their own, and a DMA engine sends by another port than the processor. One that has arrived
/// before another that was sent before it to the same rank is held until that is there: what one
/// rank sends to another takes effect in its order.
class arrival_order {
public:
    /// A request of this rank leaves.
    void note(transfer& what) {
        what.number = ++requests_;
        under_way_.push_back({what.number, what.to});
    }
    /// @return whether a request that has arrived has to wait; then it is held.
    bool holds(transfer& what) {
        const bool waits = has_before(what);
        if (waits) held_.push_back(&what);
        return waits;
    }
    /// A request is received. @return the one that had to wait for it alone and is held no longer,
    /// or null.
    transfer* arrive(std::uint64_t number) {
        const auto arrived = std::ranges::lower_bound(under_way_, number, {}, &sent::number);
        const std::uint32_t target = arrived->to;
        under_way_.erase(arrived);
        const auto next = std::ranges::find_if(
            held_, [&](const transfer* each) { return each->to == target && !has_before(*each); });
        if (next == held_.end()) return nullptr;
        transfer* const free = *next;
        held_.erase(next);
        return free;
    }

private:
    struct sent {
        std::uint64_t number;
        std::uint32_t to;
    };
    bool has_before(const transfer& what) const {
        for (const sent& each : under_way_) {
            if (each.number >= what.number) break;
            if (each.to == what.to) return true;
        }
        return false;
    }

    std::uint64_t requests_ = 0;
    std::vector<sent> under_way_;  ///< in the order of their numbers
    std::vector<transfer*> held_;
};

}  // namespace selion::machine::sim
