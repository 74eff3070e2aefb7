// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/message_way.hpp"
#include "collectives/node_gate.hpp"
#include "collectives/ordered_partials.hpp"
#include "collectives/team_meeting.hpp"
#include "collectives/team_members.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// Collectives of a team whose members are on several nodes: within a node through the memory that
/// its members share, between nodes by messages of one member of each. See nodes.md.
/// @cost messages between nodes. Of a barrier: log2(nodes) a node; of an all-reduce: as many; of a
/// broadcast: one for each node but the root's, and each 32 KiB.
class team_nodes {
public:
    team_nodes(detail::rank_context& context, const team_members& members, team_meeting& meeting)
        : context_(context), members_(members), meeting_(meeting), gate_(meeting.gate()) {}

    /// Whether a call can be carried out so, the same at all members.
    static bool can(const team_members& members, const detail::block_call& call);
    /// @param across carries messages of this call alone. @pre `can`.
    void run(const detail::block_call& call, message_way& across);

private:
    void broadcast(const detail::block_call& call, message_way& across);
    void lead_broadcast(const detail::block_call& call, message_way& across);
    void all_reduce(const detail::block_call& call, message_way& across);
    const std::byte* total_of_all(const detail::block_call& call, ordered_partials& own,
                                  message_way& across);
    std::span<const std::byte> receive(const detail::block_call& call, std::uint32_t from,
                                       std::size_t wanted, message_way& across) const;
    void show(std::span<const std::byte> data);
    void take(std::uint32_t from, std::byte* to, std::size_t bytes);
    std::uint32_t leader_of(std::uint32_t node) const { return members_.nodes().first_of(node); }

    detail::rank_context& context_;
    const team_members& members_;
    team_meeting& meeting_;
    node_gate& gate_;
};

}  // namespace selion::collectives
