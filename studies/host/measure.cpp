// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "harness/blocks.hpp"

namespace host {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t most_ns = std::chrono::nanoseconds(2s).count();
constexpr std::size_t most_samples = 101;
constexpr std::size_t fewest_samples = 7;
constexpr int warm_up_blocks = 3;

/// Time of one block; all ranks that take part get the same answer, and so decide alike.
std::int64_t time_block(selion::world& world, const repeated_call& call, std::uint64_t count,
                        callers who) {
    if (who == callers::all_ranks) world.barrier();
    const std::int64_t start = world.now();
    call(count);
    const std::int64_t elapsed = world.now() - start;
    return who == callers::all_ranks ? world.all_reduce(elapsed, selion::maximum) : elapsed;
}

/// The shortest of a few blocks: others hold what has nothing to do with the calls, such as ranks
/// that had fallen asleep.
std::int64_t shortest_block(selion::world& world, const repeated_call& call, std::uint64_t count,
                            callers who) {
    std::int64_t shortest = time_block(world, call, count, who);
    for (int i = 1; i < warm_up_blocks; ++i) {
        shortest = std::min(shortest, time_block(world, call, count, who));
    }
    return shortest;
}

std::vector<double> sample(selion::world& world, const repeated_call& call, callers who) {
    const std::uint64_t count = study::calls_per_block(
        [&](std::uint64_t calls) { return shortest_block(world, call, calls, who); });
    for (int i = 0; i < warm_up_blocks; ++i) time_block(world, call, count, who);
    std::vector<double> samples;
    std::int64_t spent = 0;
    while (samples.size() < fewest_samples || (samples.size() < most_samples && spent < most_ns)) {
        const std::int64_t elapsed = time_block(world, call, count, who);
        samples.push_back(static_cast<double>(elapsed) / static_cast<double>(count));
        spent += elapsed;
    }
    return samples;
}

}  // namespace

study::spread time_calls(selion::world& world, const repeated_call& call, callers who) {
    study::spread measured;
    world.barrier();
    if (who == callers::all_ranks || world.rank() == 0) {
        measured = study::spread_of(sample(world, call, who));
    }
    world.barrier();
    return measured;
}

}  // namespace host
