// SPDX-License-Identifier: Apache-2.0
/// Schedules by the digits of distances in base `radix`: dissemination and Bruck's.
#include <algorithm>

#include "collectives/schedules/parts.hpp"

namespace selion::collectives {
namespace {

/// Calls `each(weight, digit)` for each power of the radix below the number of ranks, and each
/// digit that is not zero of a distance that exists.
template <class Each>
void for_digits(const schedule_request& request, Each each) {
    for (std::uint64_t weight = 1; weight < request.ranks; weight *= request.radix) {
        for (std::uint64_t digit = 1; digit < request.radix; ++digit) {
            if (digit * weight >= request.ranks) break;
            each(weight, digit, digit == 1);
        }
    }
}

struct around {
    std::uint32_t ranks;
    std::uint32_t rank;
    std::uint32_t after(std::uint64_t distance) const {
        return static_cast<std::uint32_t>((rank + distance) % ranks);
    }
    std::uint32_t before(std::uint64_t distance) const {
        return static_cast<std::uint32_t>((rank + ranks - distance % ranks) % ranks);
    }
};

void append_to_step(rank_schedule& own, bool is_new, schedule_message sent,
                    schedule_message received) {
    if (is_new) own.steps.emplace_back();
    own.steps.back().sends.push_back(std::move(sent));
    own.steps.back().receives.push_back(std::move(received));
}

/// Before a weight a rank knows of the `weight` ranks up to itself.
void append_dissemination(rank_schedule& own, const schedule_request& request, around me) {
    for_digits(request, [&](std::uint64_t weight, std::uint64_t digit, bool is_first) {
        append_to_step(own, is_first, {me.after(digit * weight)}, {me.before(digit * weight)});
    });
}

/// Before a weight a rank has the blocks of the `weight` ranks from itself on.
void append_bruck_all_gather(rank_schedule& own, const schedule_request& request, around me) {
    for_digits(request, [&](std::uint64_t weight, std::uint64_t digit, bool is_first) {
        const std::uint64_t distance = digit * weight;
        const std::uint64_t count = std::min(weight, request.ranks - distance);
        const std::uint32_t from = me.after(distance);
        append_to_step(own, is_first, {me.before(distance), {{me.rank, count}}},
                       {from, {{from, count}}});
    });
}

/// Blocks with distance d to go take a step of each digit of d, the lowest first. These are those
/// that leave `holder` for a digit of a weight.
std::vector<block_range> blocks_with_digit(const schedule_request& request, around holder,
                                           std::uint64_t weight, std::uint64_t digit) {
    std::vector<block_range> blocks;
    for (std::uint64_t distance = digit * weight; distance < request.ranks; ++distance) {
        if (distance / weight % request.radix != digit) continue;
        const std::uint32_t source = holder.before(distance % weight);
        const std::uint64_t target = (source + distance) % request.ranks;
        blocks.push_back({exchange_block(request.ranks, source, target), 1});
    }
    return blocks;
}

void append_bruck_exchange(rank_schedule& own, const schedule_request& request, around me) {
    for_digits(request, [&](std::uint64_t weight, std::uint64_t digit, bool is_first) {
        const std::uint32_t from = me.before(digit * weight);
        append_to_step(own, is_first,
                       {me.after(digit * weight), blocks_with_digit(request, me, weight, digit)},
                       {from, blocks_with_digit(request, {request.ranks, from}, weight, digit)});
    });
}

}  // namespace

rank_schedule make_digit_schedule(const schedule_request& request, std::uint32_t rank) {
    const around me{request.ranks, rank};
    const std::uint64_t ranks = request.ranks;
    rank_schedule own;
    switch (request.collective) {
        case collective_kind::barrier: append_dissemination(own, request, me); break;
        case collective_kind::all_gather:
            own.blocks = ranks;
            append_bruck_all_gather(own, request, me);
            break;
        default: own.blocks = ranks * ranks; append_bruck_exchange(own, request, me);
    }
    return own;
}

}  // namespace selion::collectives
