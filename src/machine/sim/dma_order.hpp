// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine/sim/transfer.hpp"

namespace selion::machine::sim {

/// What a rank's DMA engine moves leaves later than what its processor sends after it, by another
/// port. Requests that have arrived before such a transfer, and were sent after it to the same
/// rank, are held until it is there: what one rank sends to another takes effect in its order.
class dma_order {
public:
    /// A request of this rank is sent.
    void number(transfer& what) {
        what.number = ++requests_;
        if (what.by_dma) under_way_.push_back({what.number, what.to});
    }
    /// @return whether a request that has arrived has to wait; then it is held.
    bool holds(transfer& what) {
        if (under_way_.empty() || !has_before(what)) return false;
        held_.push_back(&what);
        return true;
    }
    /// A transfer by DMA has arrived. @return requests that need not wait any more, in the order
    /// of their arrival.
    std::vector<transfer*> arrive(std::uint64_t number) {
        std::erase_if(under_way_, [number](const sent& each) { return each.number == number; });
        const auto first_free = std::stable_partition(
            held_.begin(), held_.end(), [this](const transfer* each) { return has_before(*each); });
        std::vector<transfer*> free(first_free, held_.end());
        held_.erase(first_free, held_.end());
        return free;
    }

private:
    struct sent {
        std::uint64_t number;
        std::uint32_t to;
    };
    bool has_before(const transfer& what) const {
        return std::ranges::any_of(under_way_, [&](const sent& each) {
            return each.to == what.to && each.number < what.number;
        });
    }

    std::uint64_t requests_ = 0;
    std::vector<sent> under_way_;  ///< by the engine
    std::vector<transfer*> held_;
};

}  // namespace selion::machine::sim
