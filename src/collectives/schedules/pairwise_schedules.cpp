// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedules/parts.hpp"

namespace selion::collectives {
namespace {

/// What goes from one rank to another.
block_range blocks_between(const schedule_request& request, std::uint32_t from, std::uint32_t to) {
    switch (request.collective) {
        case collective_kind::exchange: return {exchange_block(request.ranks, from, to), 1};
        case collective_kind::reduce_scatter: return {to, 1};
        case collective_kind::all_gather: return {from, 1};
        default: return {0, 1};
    }
}

/// Everybody's value to everybody; combined from the own one outwards, so that they stay in order.
rank_schedule make_direct_all_reduce(std::uint32_t ranks, std::uint32_t rank) {
    rank_schedule own{1, {}};
    if (ranks == 1) return own;
    schedule_step& step = own.steps.emplace_back();
    for (std::uint32_t i = 1; i < ranks; ++i) {
        const std::uint32_t to = (rank + i) % ranks;
        step.sends.push_back(
            {to, {{0, 1}}, rank > to ? block_action::combine_after : block_action::combine_before});
    }
    for (std::uint32_t from = rank; from-- > 0;) {
        step.receives.push_back({from, {{0, 1}}, block_action::combine_before});
    }
    for (std::uint32_t from = rank + 1; from < ranks; ++from) {
        step.receives.push_back({from, {{0, 1}}, block_action::combine_after});
    }
    return own;
}

}  // namespace

/// In turn i everybody serves the rank i after it; `flat` has all turns under way together.
rank_schedule make_pairwise_schedule(const schedule_request& request, std::uint32_t rank) {
    const std::uint32_t ranks = request.ranks;
    if (request.collective == collective_kind::all_reduce) {
        return make_direct_all_reduce(ranks, rank);
    }
    const bool is_exchange = request.collective == collective_kind::exchange;
    const auto action = request.collective == collective_kind::reduce_scatter
                            ? block_action::combine_before
                            : block_action::store;
    rank_schedule own{is_exchange ? std::uint64_t{ranks} * ranks : ranks, {}};
    for (std::uint32_t i = 1; i < ranks; ++i) {
        const std::uint32_t to = (rank + i) % ranks;
        const std::uint32_t from = (rank + ranks - i) % ranks;
        if (i == 1 || request.algorithm != schedule_algorithm::flat) own.steps.emplace_back();
        own.steps.back().sends.push_back({to, {blocks_between(request, rank, to)}, action});
        own.steps.back().receives.push_back({from, {blocks_between(request, from, rank)}, action});
    }
    return own;
}

}  // namespace selion::collectives
