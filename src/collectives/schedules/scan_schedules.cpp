// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedules/parts.hpp"

namespace selion::collectives {
namespace {

constexpr auto before_mine = block_action::combine_before;

void append_chain_scan(rank_schedule& own, std::uint32_t ranks, std::uint32_t rank) {
    if (rank != 0) append_receive(own, {rank - 1, {{0, 1}}, before_mine});
    if (rank + 1 != ranks) append_send(own, {rank + 1, {{0, 1}}, before_mine});
}

/// After k steps a rank has the values of the 2^k ranks up to itself.
void append_doubling_scan(rank_schedule& own, std::uint32_t ranks, std::uint32_t rank) {
    for (std::uint64_t distance = 1; distance < ranks; distance *= 2) {
        const auto far = static_cast<std::uint32_t>(distance);
        schedule_step step;
        if (ranks - rank > far) step.sends.push_back({rank + far, {{0, 1}}, before_mine});
        if (rank >= far) step.receives.push_back({rank - far, {{0, 1}}, before_mine});
        if (!step.sends.empty() || !step.receives.empty()) own.steps.push_back(step);
    }
}

/// Up: the last rank of each aligned group of 2^k ranks gets the value of all of them. Down: who
/// has the value of all ranks up to itself tells the last ranks of the groups that follow it. So
/// the value of ranks 0 to 6 is (((0 1)(2 3)) (4 5)) 6; twice the rounds of doubling, few messages.
void append_sweep_scan(rank_schedule& own, std::uint32_t ranks, std::uint32_t rank) {
    const std::uint32_t end = rank + 1;
    const std::uint32_t size = end & -end;  // of the largest group that ends with this rank
    for (std::uint32_t half = 1; half < size; half *= 2) {
        append_receive(own, {rank - half, {{0, 1}}, before_mine});
    }
    if (ranks - rank > size) append_send(own, {rank + size, {{0, 1}}, before_mine});
    if (end != size) append_receive(own, {rank - size, {{0, 1}}, before_mine});
    for (std::uint32_t half = size / 2; half != 0; half /= 2) {
        if (ranks - rank > half) append_send(own, {rank + half, {{0, 1}}, before_mine});
    }
}

}  // namespace

rank_schedule make_scan_schedule(const schedule_request& request, std::uint32_t rank) {
    const std::uint32_t ranks = request.ranks;
    rank_schedule own{1, {}};
    switch (request.algorithm) {
        case schedule_algorithm::chain: append_chain_scan(own, ranks, rank); break;
        case schedule_algorithm::binary: append_sweep_scan(own, ranks, rank); break;
        default: append_doubling_scan(own, ranks, rank);
    }
    if (request.collective == collective_kind::scan) return own;
    // The result without the own value is that of the rank before.
    schedule_step step;
    if (rank + 1 != ranks) step.sends.push_back({rank + 1, {{0, 1}}});
    if (rank != 0) step.receives.push_back({rank - 1, {{0, 1}}});
    if (ranks != 1) own.steps.push_back(step);
    return own;
}

}  // namespace selion::collectives
