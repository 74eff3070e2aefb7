// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "machine/sim/model/machine_model.hpp"

namespace selion::machine::sim {

/// What transfers on a bus take.
class bus_costs {
public:
    /// @param ranks the master and its boards, which are ranks 1 and up.
    bus_costs(const bus_model& model, std::uint32_t ranks);

    /// Whether a board sits in an expander box. Boards fill the host's own slots first; of boxes
    /// there are as few as hold the rest, each in a slot of its own, and the highest boards sit in
    /// them.
    bool is_behind_box(std::uint32_t board) const { return board >= first_behind_box_; }
    ticks write(std::uint32_t board, std::uint64_t bytes) const {
        return is_behind_box(board) ? boxed_setup_ + boxed_write_.of(bytes)
                                    : setup_ + write_.of(bytes);
    }
    ticks read(std::uint32_t board, std::uint64_t bytes) const {
        return is_behind_box(board) ? boxed_setup_ + boxed_read_.of(bytes)
                                    : setup_ + read_.of(bytes);
    }
    /// From one board to another by themselves.
    ticks direct(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const {
        return write(std::max(from, to), bytes);  // the highest boards sit in boxes
    }

private:
    std::uint32_t first_behind_box_;
    ticks setup_;
    ticks boxed_setup_;
    rate write_;
    rate read_;
    rate boxed_write_;
    rate boxed_read_;
};

}  // namespace selion::machine::sim
