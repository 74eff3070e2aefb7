// SPDX-License-Identifier: Apache-2.0
/// Barriers really separate what comes before from what comes after.
#include "conformance/memory_parts.hpp"

namespace {

SPMD_TEST(barrier, separates_phases_of_puts) {
    // In each phase every rank writes to some others; after the barrier the values are there.
    constexpr std::uint32_t reach = 4;
    spmd::symmetric_array<std::uint64_t> cells(world, reach);
    for (std::uint64_t phase = 1; phase <= test.rounds(6000, 30); ++phase) {
        for (std::uint32_t d = 0; d < reach; ++d) {
            selion::put(cells.at(test.neighbour(d + 1), d), phase * 1000 + world.rank());
        }
        world.barrier();
        for (std::uint32_t d = 0; d < reach; ++d) {
            test.equal(cells.mine()[d], phase * 1000 + test.neighbour_before(d + 1));
        }
        world.barrier();
    }
}

template <class Synchronise>
void count_arrivals(spmd::test_run& test, selion::world& world, Synchronise synchronise) {
    spmd::symmetric_array<std::uint64_t> arrivals(world, 1);
    const auto counter = arrivals.at(world.size() - 1);
    for (std::uint64_t phase = 1; phase <= test.rounds(6000, 30); ++phase) {
        test.at_least(phase * world.size(), selion::fetch_add(counter, 1) + 1);
        synchronise();
        // All have arrived, and nobody begins the next phase before all have looked.
        test.equal(selion::atomic_get(counter), phase * world.size());
        synchronise();
    }
}

SPMD_TEST(barrier, nobody_leaves_before_all_have_come) {
    count_arrivals(test, world, [&] { world.barrier(); });
}

SPMD_TEST(sync, nobody_leaves_before_all_have_come) {
    count_arrivals(test, world, [&] { world.sync(); });
}

SPMD_TEST(barrier, mixes_with_sync) {
    spmd::symmetric_array<std::uint64_t> arrivals(world, 1);
    for (std::uint64_t phase = 1; phase <= test.rounds(3000, 20); ++phase) {
        selion::fetch_add(arrivals.at(0), 1);
        for (std::uint64_t i = 0; i < test.common_random()() % 4; ++i) world.sync();
        world.barrier();
        test.equal(selion::atomic_get(arrivals.at(0)), phase * world.size());
        world.sync();
    }
}

SPMD_TEST(barrier, waits_for_the_last_whoever_that_is) {
    spmd::symmetric_array<std::uint32_t> last(world, 1);
    const spmd::way_giver way(world);
    for (std::uint32_t round = 1; round <= test.rounds(60, 8); ++round) {
        const std::uint32_t late = round % world.size();
        if (world.rank() == late) {
            for (int i = 0; i < 50; ++i) way();
            selion::put(last.at(0), round);
        }
        world.barrier();
        test.equal(selion::get(last.at(0)), round);
        world.barrier();
    }
}

SPMD_TEST(barrier, works_for_a_team) {
    const selion::team& everybody = world;
    spmd::symmetric_array<std::uint32_t> cell(world, 1);
    for (std::uint32_t round = 1; round <= 5; ++round) {
        selion::put(cell.at(test.neighbour()), round);
        everybody.barrier();
        test.equal(*cell.mine(), round);
        everybody.sync();
    }
}

SPMD_TEST(synchronise, in_two_halves) {
    spmd::symmetric_array<std::uint64_t> cells(world, 2);
    const selion::team half = world.split(world.rank() % 2);
    const std::uint32_t size = world.size();
    const std::uint32_t before = (world.rank() + size - 1) % size;
    for (std::uint64_t turn = 1; turn <= 50; ++turn) {
        selion::put(cells.at(test.neighbour(), turn % 2), turn * 1000 + world.rank());
        world.arrive();
        half.barrier();  // of another team
        world.wait();
        test.equal(selion::get(cells.own(turn % 2)), turn * 1000 + before);
        half.arrive();
        test.equal(world.all_reduce(1u, selion::plus), size);
        half.wait();
    }
}

}  // namespace
