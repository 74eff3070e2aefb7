// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/mesh_layout.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// How a message is cut into transactions and at which pace its source makes them. While a message
/// is on its way `step` counts the transactions that have gone, `at` those of the unrolled loop,
/// `slots_left` those that have not arrived, and `entered` is when the next one is ready.
class mesh_train {
public:
    /// @param source the port that it leaves by.
    mesh_train(const mesh_model& model, message& what, mesh_link source)
        : model_(model), what_(what), source_(source) {}

    /// The first one is ready some time after `now`.
    void begin(ticks now) {
        const std::uint32_t count = transactions();
        what_.step = 0;
        what_.slots_left = count;
        // A loop that is not unrolled makes all its stores one by one.
        const std::uint32_t unroll = model_.loop_unroll;
        what_.at = unroll > 1 ? (count - 1) / unroll * unroll : 0;
        what_.entered = now + work_before_first() + work_of_next();
    }
    static std::uint32_t bytes_of_store(const mesh_model& model, const message& what) {
        return what.store_bytes != 0 ? what.store_bytes : model.store_bytes;
    }
    /// Work for all but the first, each of which takes at least so long. @pre begin.
    ticks work_of_rest(ticks least) const {
        const std::uint32_t count = transactions();
        if (source_ == from_core) {
            const std::uint32_t unrolled = what_.at - std::min(what_.at, 1U);
            return multiple(unrolled, std::max(model_.unrolled_store, least)) +
                   multiple(count - 1 - unrolled, std::max(model_.remainder_store, least));
        }
        if (source_ == from_events || count == 1) return multiple(count - 1, least);
        // Whole transactions of DMA differ by at most a tick, so all or none of them take longer
        // than `least`; the last one may be a short one.
        const rate& pace = model_.dma_per_byte;
        const std::uint64_t before_last = std::uint64_t{count - 1} * width();
        const ticks whole = pace.of(width()) < least ? multiple(count - 2, least)
                                                     : pace.of(before_last) - pace.of(width());
        return whole + std::max(pace.of(what_.bytes) - pace.of(before_last), least);
    }
    std::uint32_t transactions() const {
        const std::uint64_t full = (what_.bytes + width() - 1) / width();
        return static_cast<std::uint32_t>(std::max<std::uint64_t>(full, 1));
    }
    bool is_at_end() const { return what_.step == transactions(); }
    ticks ready() const { return what_.entered; }
    /// The next one has gone.
    void go_on(ticks gone) {
        ++what_.step;
        what_.entered = gone + work_of_next();
    }
    /// Bytes of the next one; the last of a message may be a short one.
    std::uint32_t bytes() const {
        const std::uint64_t gone = std::uint64_t{what_.step} * width();
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(width(), what_.bytes - gone));
    }

private:
    std::uint32_t width() const {
        const bool is_stores =
            source_ == from_core || (source_ == from_events && what_.store_bytes != 0);
        return is_stores ? std::min(bytes_of_store(model_, what_), model_.transaction_bytes)
                         : model_.transaction_bytes;
    }
    ticks work_before_first() const {
        if (source_ == from_core) return model_.loop_entry;
        if (source_ != from_dma) return 0;
        switch (what_.stage) {
            case detail::dma_stage::next_row: return 0;
            case detail::dma_stage::next_block: return model_.dma_chain;
            default: return model_.dma_setup;
        }
    }
    ticks work_of_next() const {
        if (source_ == from_core) {
            return what_.step < what_.at ? model_.unrolled_store : model_.remainder_store;
        }
        if (source_ == from_events) return 0;
        const std::uint64_t gone = std::uint64_t{what_.step} * width();
        const std::uint64_t then = std::min(gone + width(), what_.bytes);
        // Differences of running totals: fractions of a tick are not lost.
        return model_.dma_per_byte.of(then) - model_.dma_per_byte.of(std::min(gone, what_.bytes));
    }

    const mesh_model& model_;
    message& what_;
    mesh_link source_;
};

}  // namespace selion::machine::sim
