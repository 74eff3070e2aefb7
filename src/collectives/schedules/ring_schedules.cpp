// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedules/parts.hpp"

namespace selion::collectives {
namespace {

/// At the end everybody has everybody's blocks, block r from rank r.
void append_all_gather(rank_schedule& own, std::uint32_t ranks, std::uint32_t rank) {
    const std::uint32_t after = (rank + 1) % ranks;
    const std::uint32_t before = (rank + ranks - 1) % ranks;
    for (std::uint32_t step = 0; step + 1 < ranks; ++step) {
        append_swap(own, {after, {{(rank + ranks - step) % ranks, 1}}},
                    {before, {{(before + ranks - step) % ranks, 1}}});
    }
}

/// At the end block r is complete at rank r.
void append_reduce_scatter(rank_schedule& own, std::uint32_t ranks, std::uint32_t rank) {
    const std::uint32_t after = (rank + 1) % ranks;
    const std::uint32_t before = (rank + ranks - 1) % ranks;
    // What has come for a block stands for ranks before mine.
    constexpr auto action = block_action::combine_before;
    for (std::uint32_t step = 0; step + 1 < ranks; ++step) {
        append_swap(own, {after, {{(before + ranks - step) % ranks, 1}}, action},
                    {before, {{(before + ranks - 1 - step) % ranks, 1}}, action});
    }
}

/// Scattered over a tree; then the blocks go round, and each rank gets those that it lacks.
rank_schedule make_scatter_ring(const schedule_request& request, std::uint32_t rank) {
    const std::uint32_t ranks = request.ranks;
    schedule_request scattering = request;
    scattering.collective = collective_kind::scatter;
    scattering.algorithm = schedule_algorithm::k_nomial;
    rank_schedule own = make_schedule(scattering, rank);
    // Blocks of a subtree that a rank has scattered it has still; the ring brings the others.
    const std::uint32_t place = (rank + ranks - request.root) % ranks;
    const auto held = [&](std::uint32_t of) {
        return links_in(tree_shape::k_nomial, request.radix, ranks, of).own;
    };
    const auto rank_at = [&](std::uint32_t at) { return (at + request.root) % ranks; };
    const std::uint32_t next = (place + 1) % ranks;
    const subtree mine = held(place);
    const subtree theirs = held(next);
    const auto has = [](subtree range, std::uint32_t block) {
        return range.place <= block && block < range.end;
    };
    for (std::uint32_t step = 0; step + 1 < ranks; ++step) {
        const std::uint32_t sent = (place + ranks - step) % ranks;
        const std::uint32_t received = (place + 2 * ranks - step - 1) % ranks;
        schedule_step both;
        if (!has(theirs, sent)) both.sends.push_back({rank_at(next), {{rank_at(sent), 1}}});
        if (!has(mine, received)) {
            both.receives.push_back(
                {rank_at((place + ranks - 1) % ranks), {{rank_at(received), 1}}});
        }
        if (!both.sends.empty() || !both.receives.empty()) own.steps.push_back(both);
    }
    return own;
}

}  // namespace

rank_schedule make_ring_schedule(const schedule_request& request, std::uint32_t rank) {
    using enum collective_kind;
    const std::uint32_t ranks = request.ranks;
    if (request.collective == broadcast) return make_scatter_ring(request, rank);
    rank_schedule own{ranks, {}};
    if (request.collective != all_gather) append_reduce_scatter(own, ranks, rank);
    if (request.collective != reduce_scatter) append_all_gather(own, ranks, rank);
    return own;
}

}  // namespace selion::collectives
