// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/neighbour_links.hpp"
#include "selion/reduction.hpp"

namespace selion::collectives {

/// Collectives of members that do not map each other: messages along binomial trees. Long data go
/// in parts of at most `slot_bytes`, one tree for each part.
/// @cost broadcast of up to `letter_bytes`: members - 1 messages, and at most half as many credits.
/// all_reduce: 2 (members - 1) messages. A parcel that answers nothing adds its invitation.
class message_tree {
public:
    message_tree(detail::rank_context& context, const team_members& members)
        : members_(members), links_(context, members) {}

    void broadcast(std::span<std::byte> data, std::uint32_t root);
    void all_reduce(std::byte* data, std::size_t count, const detail::reduction& how);

private:
    void reduce_up(std::span<std::byte> part, std::size_t count, const detail::reduction& how);
    void send_down(std::span<std::byte> part, bool is_answer);
    void receive_copy(neighbour from, std::span<std::byte> data, landing_place where);

    const team_members& members_;
    neighbour_links links_;
};

}  // namespace selion::collectives
