// SPDX-License-Identifier: Apache-2.0
/// Atomics of all widths and signs, alone and with all ranks at once.
#include <limits>

#include "conformance/memory_parts.hpp"

namespace {

template <class T>
void alone(spmd::test_run& test, selion::world& world) {
    using limits = std::numeric_limits<T>;
    spmd::symmetric_array<T> cells(world, 4);  // the neighbours of a cell are its canaries
    for (int i = 0; i < 4; ++i) cells.mine()[i] = T{91};
    world.barrier();
    const auto cell = cells.at(test.neighbour(), 1);
    selion::atomic_put(cell, limits::max());
    test.equal(selion::atomic_get(cell), limits::max());
    test.equal(selion::fetch_add(cell, T{1}), limits::max());
    test.equal(selion::atomic_get(cell), limits::min());  // wraps
    test.equal(selion::fetch_add(cell, static_cast<T>(-1)), limits::min());
    test.equal(selion::get(cell), limits::max());
    test.equal(selion::compare_swap(cell, T{5}, T{6}), limits::max());
    test.equal(selion::atomic_get(cell), limits::max());
    test.equal(selion::compare_swap(cell, limits::max(), static_cast<T>(-3)), limits::max());
    test.equal(selion::atomic_get(cell), static_cast<T>(-3));
    test.equal(selion::fetch_add(cell, T{0}), static_cast<T>(-3));
    world.barrier();
    test.equal(cells.mine()[0], T{91});
    test.equal(cells.mine()[1], static_cast<T>(-3));
    test.equal(cells.mine()[2], T{91});
}

SPMD_TEST(atomics, each_alone) {
    alone<std::int32_t>(test, world);
    alone<std::uint32_t>(test, world);
    alone<std::int64_t>(test, world);
    alone<std::uint64_t>(test, world);
    alone<long long>(test, world);
}

/// Contention comes in bursts, which all ranks begin together: else one might be done with all its
/// operations before the next is awake. Over a network that takes fewer of them.
std::uint32_t burst_of(const selion::world& world) {
    return world.machine().kind == "fabric" ? 100 : 500;
}

std::uint32_t bursts(const spmd::test_run& test) { return test.rounds(400, 1); }

/// All ranks draw numbers from one counter: each number comes once.
template <class T>
void draw_numbers(spmd::test_run& test, selion::world& world, T step) {
    const std::uint32_t burst = burst_of(world);
    const std::uint32_t draws = bursts(test) * burst;
    const T last = static_cast<T>(step * static_cast<T>(draws * world.size()));
    spmd::symmetric_array<T> counter(world, 1);
    std::uint64_t sum = 0;
    T before = 0;
    for (std::uint32_t i = 0; i < draws; ++i) {
        if (i % burst == 0) world.sync();
        const T number = selion::fetch_add(counter.at(world.size() / 2), step);
        const T drawn = static_cast<T>(number / step);
        if (i != 0) test.that(drawn > before, "the numbers that one rank draws grow");
        before = drawn;
        sum += static_cast<std::uint64_t>(drawn);
    }
    const std::uint64_t all = std::uint64_t{draws} * world.size();
    test.equal(world.all_reduce(sum, selion::plus), all * (all - 1) / 2);
    test.equal(selion::atomic_get(counter.at(world.size() / 2)), last);
}

SPMD_TEST(atomics, everybody_draws_from_one_counter) {
    draw_numbers<std::uint32_t>(test, world, 1);
    draw_numbers<std::uint64_t>(test, world, std::uint64_t{1} << 33);
    draw_numbers<std::int32_t>(test, world, -3);
    draw_numbers<std::int64_t>(test, world, -5'000'000'000);
}

SPMD_TEST(atomics, everybody_adds_everywhere) {
    spmd::symmetric_array<std::uint32_t> cells(world, 2);
    const std::uint32_t burst = burst_of(world);
    const std::uint32_t rounds = bursts(test) * burst / world.size();
    for (std::uint32_t i = 0; i < rounds; ++i) {
        if (i * world.size() % burst < world.size()) world.sync();
        for (std::uint32_t d = 0; d < world.size(); ++d) {
            selion::fetch_add(cells.at(test.neighbour(d), 1), world.rank() + 1);
        }
    }
    world.barrier();
    const std::uint32_t ranks = world.size();
    test.equal(selion::atomic_get(cells.own(1)), rounds * (ranks * (ranks + 1) / 2));
    test.equal(cells.mine()[0], 0u);
}

template <class T>
void increment_by_compare_swap(spmd::test_run& test, selion::world& world) {
    spmd::symmetric_array<T> counter(world, 1);
    const std::uint32_t burst = burst_of(world);
    const std::uint32_t rounds = bursts(test) * burst;
    const auto cell = counter.at(world.size() - 1);
    for (std::uint32_t i = 0; i < rounds; ++i) {
        if (i % burst == 0) world.sync();
        T seen = selion::atomic_get(cell);
        while (true) {
            const T before = selion::compare_swap(cell, seen, static_cast<T>(seen + 1));
            if (before == seen) break;
            seen = before;
        }
    }
    world.barrier();
    test.equal(selion::atomic_get(cell), static_cast<T>(rounds * world.size()));
}

SPMD_TEST(atomics, compare_swap_under_contention) {
    increment_by_compare_swap<std::int32_t>(test, world);
    increment_by_compare_swap<std::uint32_t>(test, world);
    increment_by_compare_swap<std::int64_t>(test, world);
    increment_by_compare_swap<std::uint64_t>(test, world);
}

SPMD_TEST(atomics, a_lock_of_compare_swap_guards_plain_memory) {
    struct account {
        std::uint64_t lock;
        std::uint64_t coins;
        std::uint64_t copies[5];
    };
    spmd::symmetric_array<account> accounts(world, 1);
    const spmd::way_giver give_way(world);
    const auto bank = accounts.at(0);
    const auto lock = bank.reinterpret<std::uint64_t>();
    const std::uint32_t rounds = test.rounds(4000, 20);
    for (std::uint32_t i = 0; i < rounds; ++i) {
        while (selion::compare_swap(lock, 0, world.rank() + 1) != 0) give_way();
        const auto coins = (lock + 1);
        const std::uint64_t before = selion::get(coins);
        selion::put(coins, before + 1);
        for (int copy = 0; copy < 5; ++copy) {
            test.equal(selion::get(lock + 2 + copy), before);
            selion::put(lock + 2 + copy, before + 1);
        }
        test.equal(selion::compare_swap(lock, world.rank() + 1, 0), world.rank() + 1ull);
    }
    world.barrier();
    test.equal(selion::get(lock + 1), std::uint64_t{rounds} * world.size());
}

SPMD_TEST(atomics, atomic_put_is_never_torn) {
    spmd::symmetric_array<std::uint64_t> cells(world, 1);
    const auto cell = cells.at(0);
    for (std::uint32_t i = 0; i < test.rounds(20000, 50); ++i) {
        const std::uint64_t half = world.rank() * 1000 + i % 1000;
        selion::atomic_put(cell, half << 32 | half);
        const std::uint64_t seen = selion::atomic_get(cell);
        test.equal(seen >> 32, seen & 0xffffffffu);
    }
}

}  // namespace
