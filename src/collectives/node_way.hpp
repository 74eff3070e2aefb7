// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/message_way.hpp"
#include "collectives/pair_lines.hpp"

namespace selion::collectives {

/// Messages between members of one node, who share memory, go over lines, all others by messages of
/// the machine. So a schedule of which most messages stay within nodes, such as a hierarchical one,
/// has most of them in shared memory.
class node_way final : public message_way {
public:
    node_way(pair_lines& within, message_way& across) : within_(within), across_(across) {}

    void send(std::uint32_t member, message_pieces data, bool may_lend) override {
        way_to(member).send(member, data, may_lend);
    }
    std::span<const std::byte> receive(std::uint32_t member, std::size_t expected,
                                       std::byte* place) override {
        message_way& way = way_to(member);
        // Who waits within the node has given back what others have lent: they may be waited for.
        if (&way == &within_) across_.finish_reading();
        return way.receive(member, expected, place);
    }
    void finish_reading() override { across_.finish_reading(); }
    void end_reading() noexcept override { across_.end_reading(); }
    void end_step() override {
        across_.finish_reading();
        within_.end_step();
        across_.end_step();
    }

private:
    message_way& way_to(std::uint32_t member) {
        if (within_.reaches(member)) return within_;
        return across_;
    }

    pair_lines& within_;
    message_way& across_;
};

}  // namespace selion::collectives
