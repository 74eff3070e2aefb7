// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collectives/schedules/tree.hpp"
#include "selion/schedule.hpp"

/// Parts that schedules are put together from. Each appends steps to what a rank does already.
namespace selion::collectives {

/// One rank's way through a tree.
struct tree_walk {
    tree_shape shape;
    std::uint32_t radix;
    std::uint32_t places;
    std::uint32_t place;
    std::function<std::uint32_t(std::uint32_t place)> rank_at;
    /// What goes over the link above a subtree.
    std::function<std::vector<block_range>(subtree)> blocks_of;
};

/// From the leaves to the root.
void append_up(rank_schedule& own, const tree_walk& walk, block_action action);
/// From the root to the leaves.
void append_down(rank_schedule& own, const tree_walk& walk);

/// A rank that this one gives to or takes from, and where its values stand beside the own ones.
struct linked_rank {
    std::uint32_t rank = 0;
    block_action action = block_action::combine_after;
};
/// Blocks 0 .. `blocks` - 1 one after another: each is passed on in the step in which the next one
/// comes. A barrier has no block, and one message all the same. @param from,to may be empty.
void append_pipeline(rank_schedule& own, std::span<const linked_rank> from,
                     std::span<const linked_rank> to, std::uint64_t blocks);

/// A step with one message each way, or one of them.
void append_swap(rank_schedule& own, schedule_message sent, schedule_message received);
void append_send(rank_schedule& own, schedule_message sent);
void append_receive(rank_schedule& own, schedule_message received);

// Schedules by algorithm; the request has been checked.
rank_schedule make_tree_schedule(const schedule_request& request, std::uint32_t rank);
rank_schedule make_hierarchical_schedule(const schedule_request& request, std::uint32_t rank);
rank_schedule make_mesh_schedule(const schedule_request& request, std::uint32_t rank);
rank_schedule make_mesh_order_schedule(const schedule_request& request, std::uint32_t rank);
rank_schedule make_scan_schedule(const schedule_request& request, std::uint32_t rank);
rank_schedule make_ring_schedule(const schedule_request& request, std::uint32_t rank);
rank_schedule make_doubling_schedule(const schedule_request& request, std::uint32_t rank);
rank_schedule make_digit_schedule(const schedule_request& request, std::uint32_t rank);
rank_schedule make_pairwise_schedule(const schedule_request& request, std::uint32_t rank);

/// Blocks of an exchange: from rank s to rank t.
constexpr std::uint64_t exchange_block(std::uint64_t ranks, std::uint64_t s, std::uint64_t t) {
    return s * ranks + t;
}

}  // namespace selion::collectives
