// SPDX-License-Identifier: Apache-2.0
/// With progress by interrupts a rank that computes and never calls keeps nobody waiting.
#include <sched.h>

#include <atomic>
#include <vector>

#include "conformance/spmd.hpp"

namespace {

constexpr std::size_t long_elements = std::size_t{1} << 15;

SPMD_TEST(interrupt, what_is_wanted_of_a_rank_that_computes_is_done) {
    if (world.progress() != selion::progress_kind::interrupt ||
        !world.machine().capabilities.real_time) {
        return test.skip("it waits for calls here");
    }
    if (world.machine().carriers < world.size()) {
        return test.skip("a rank that never calls keeps those of its thread from asking");
    }
    const auto cells = selion::allocate<std::uint64_t>(world, long_elements);
    const auto count = selion::allocate<std::uint64_t>(world, 1);
    std::vector<std::uint64_t> back(long_elements);
    cells.local()[1] = world.rank() + 5;
    for (std::uint32_t turn = 0; turn < world.size(); ++turn) {
        world.barrier();
        if (turn == world.rank()) {
            const std::atomic_ref own(*count.local());
            while (own.load(std::memory_order_acquire) < world.size() - 1) sched_yield();
            continue;
        }
        test.equal(selion::get((cells + 1).on(turn)), std::uint64_t{turn} + 5);
        selion::get(std::span(back), cells.on(turn));
        test.equal(back[1], std::uint64_t{turn} + 5);
        selion::put((cells + 2 + world.rank()).on(turn), std::uint64_t{1});
        selion::quiet();
        selion::fetch_add(count.on(turn), std::uint64_t{1});
    }
    world.barrier();
    selion::deallocate(world, count);
    selion::deallocate(world, cells);
}

}  // namespace
