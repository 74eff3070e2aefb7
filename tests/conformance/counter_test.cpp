// SPDX-License-Identifier: Apache-2.0
/// Operations that are started and counted: puts, gets, stores and atomics, from and to every rank.
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "conformance/memory_parts.hpp"

namespace {

using namespace std::chrono_literals;

SPMD_TEST(counter, puts_count_at_origin_target_and_completion) {
    constexpr std::size_t count = 40;
    spmd::symmetric_array<std::uint64_t> cells(world, count);
    spmd::symmetric_array<selion::counter> arrived(world, 1);
    selion::counter reusable;
    selion::counter complete;
    std::vector<std::uint64_t> own(count);
    std::iota(own.begin(), own.end(), 100 * world.rank());
    const std::uint32_t to = test.neighbour();
    selion::put(cells.at(to), std::span<const std::uint64_t>(own),
                {.origin = &reusable, .target = arrived.at(to, 0), .completion = &complete});
    reusable.wait(1);
    std::ranges::fill(own, ~std::uint64_t{0});
    arrived.mine()[0].wait(1);
    for (std::size_t i = 0; i < count; ++i) {
        test.equal(cells.mine()[i], 100 * std::uint64_t{test.neighbour_before()} + i);
    }
    complete.wait(1);
    test.equal(reusable.value(), 0);
    test.equal(complete.value(), 0);
    test.equal(arrived.mine()[0].value(), 0);
    world.barrier();
}

SPMD_TEST(counter, values_are_copied_at_once) {
    spmd::symmetric_array<std::uint64_t> cells(world, 2);
    selion::counter reusable;
    std::uint64_t value = world.rank() + 7;
    selion::put(cells.at(test.neighbour()), value, {.origin = &reusable});
    test.equal(reusable.value(), 1);
    value = 0;
    world.barrier();
    test.equal(cells.mine()[0], std::uint64_t{test.neighbour_before()} + 7);
}

SPMD_TEST(counter, gets_count_here_and_at_the_source) {
    spmd::symmetric_array<std::uint64_t> cells(world, 8);
    spmd::symmetric_array<selion::counter> read(world, 1);
    for (std::size_t i = 0; i < 8; ++i) cells.mine()[i] = world.rank() * 10 + i;
    world.barrier();
    selion::counter here;
    selion::counter complete;
    std::array<std::uint64_t, 8> into{};
    const std::uint32_t from = test.neighbour();
    selion::get(std::span<std::uint64_t>(into), cells.at(from),
                {.origin = &here, .target = read.at(from, 0), .completion = &complete});
    here.wait(1);
    for (std::size_t i = 0; i < 8; ++i) test.equal(into[i], std::uint64_t{from} * 10 + i);
    complete.wait(1);
    read.mine()[0].wait(1);
    world.barrier();
}

SPMD_TEST(counter, one_counter_counts_many_operations_of_all_kinds) {
    constexpr std::uint32_t count = 50;
    spmd::symmetric_array<std::uint64_t> cells(world, count);
    spmd::symmetric_array<std::uint64_t> sums(world, 1);
    selion::counter done;
    std::array<std::uint64_t, count> into{};
    for (std::uint32_t i = 0; i < count; ++i) {
        selion::put(cells.at(test.neighbour(), i), std::uint64_t{i}, done);
    }
    done.wait(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        selion::get(std::span(into).subspan(i, 1), cells.at(test.neighbour(), i), done);
    }
    std::uint64_t before = 99;
    selion::fetch_add(&before, sums.at(test.neighbour()), 5, done);
    done.wait(count + 1);
    for (std::uint32_t i = 0; i < count; ++i) test.equal(into[i], std::uint64_t{i});
    test.equal(before, 0u);
    world.barrier();
    test.equal(sums.mine()[0], 5u);
}

SPMD_TEST(counter, waiting_subtracts_and_setting_replaces) {
    selion::counter done;
    spmd::symmetric_array<int> cells(world, 4);
    for (int i = 0; i < 5; ++i) selion::put(cells.at(test.neighbour()), i, done);
    done.wait(3);
    done.wait(1);
    while (done.value() < 1) static_cast<void>(selion::progress());
    test.equal(done.value(), 1);
    done.set(10);
    test.equal(done.value(), 10);
    test.that(done.test(10), "ten are there");
    test.that(!done.test(1), "and no more");
    done.set(-1);
    selion::put(cells.at(test.neighbour()), 1, done);
    selion::put(cells.at(test.neighbour()), 2, done);
    done.wait(1);
    test.equal(done.value(), 0);
    world.barrier();
}

SPMD_TEST(counter, a_loop_of_looks_lets_others_come) {
    // Everybody looks for what its neighbour sends after it has looked itself.
    spmd::symmetric_array<selion::counter> arrived(world, 1);
    spmd::symmetric_array<std::uint64_t> cells(world, 1);
    selion::counter& own = *arrived.mine();
    if (world.rank() != 0) {
        while (own.value() < 1) static_cast<void>(selion::progress());
    }
    selion::put(cells.at(test.neighbour()), std::uint64_t{1},
                {.target = arrived.at(test.neighbour())});
    while (!own.test(1)) {
    }
    world.barrier();
}

SPMD_TEST(counter, waits_end_in_time) {
    selion::counter never;
    test.that(!never.wait(1, 200us), "nothing comes");
    std::array<selion::counter*, 1> all{&never};
    test.equal(selion::wait_any(all, 1, 100us), std::size_t{1});
    never.set(2);
    test.that(never.wait(2, 0ns), "what is there is taken at once");
}

/// Handlers that rank 0 has run.
std::atomic<int> numbers_taken = 0;

selion::arrival take_slowly(const int&, selion::message_info) {
    const auto end = std::chrono::steady_clock::now() + 20us;
    while (std::chrono::steady_clock::now() < end) {
    }
    ++numbers_taken;
    return {};
}

/// Others keep a rank busy that waits to a limit: it looks at the time between two services.
SPMD_TEST(counter, waits_end_in_time_also_where_messages_come_again_and_again) {
    constexpr int messages = 4000;
    constexpr int most_in_time = 1000;  // two services of a ring, and what fits into the limit
    const auto& machine = world.machine();
    const bool polls_memory = (machine.kind == "threads" || machine.kind == "processes") &&
                              machine.capabilities.progress == selion::progress_kind::polling;
    if (!polls_memory || world.size() != 2) return;
    if (world.rank() == 0) {
        std::this_thread::sleep_for(20ms);  // the ring fills
        selion::counter never;
        const int before = numbers_taken;
        test.equal(never.wait(1, 1ms), false);
        test.that(numbers_taken - before <= most_in_time, "it does not serve all that comes");
    } else {
        for (int i = 0; i < messages; ++i) selion::send(0, take_slowly, i);
    }
    world.barrier();
}

SPMD_TEST(counter, any_of_several) {
    spmd::symmetric_array<selion::counter> arrived(world, 12);
    spmd::symmetric_array<std::uint64_t> cells(world, 12);
    std::array<selion::counter*, 12> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = &arrived.mine()[i];
    for (const std::size_t which : {0u, 5u, 11u}) {
        world.barrier();
        selion::put(cells.at(test.neighbour(), which), std::uint64_t{1},
                    {.target = arrived.at(test.neighbour(), which)});
        test.equal(selion::wait_any(all), which);
    }
    world.barrier();
}

/// One that is named twice is one, and the lower of two goals of a word is met first.
SPMD_TEST(counter, any_of_several_may_name_one_twice) {
    spmd::symmetric_array<selion::counter> arrived(world, 2);
    spmd::symmetric_array<std::uint64_t> cells(world, 1);
    const std::array<selion::counter*, 3> all{&arrived.mine()[1], &arrived.mine()[0],
                                              &arrived.mine()[0]};
    for (int round = 0; round < 2; ++round) {
        world.barrier();
        selion::put(cells.at(test.neighbour()), std::uint64_t{1},
                    {.target = arrived.at(test.neighbour())});
        // It may count between the looks at its two places.
        const std::size_t found = selion::wait_any(all);
        test.equal(found == 1 || found == 2, true);
    }
    selion::counter answered;
    std::uint64_t value = 0;
    const std::array<selion::counter*, 2> twice{&answered, &answered};
    selion::get(std::span(&value, 1), cells.at(test.neighbour()), {.completion = &answered});
    test.equal(selion::wait_any(twice) < twice.size(), true);
    world.barrier();
}

/// Whichever of them counts, also the last one. Longer than anybody's patience passes before.
SPMD_TEST(counter, any_of_several_wakes_who_sleeps) {
    spmd::symmetric_array<selion::counter> arrived(world, 3);
    spmd::symmetric_array<std::uint64_t> cells(world, 1);
    const spmd::way_giver way(world);
    const std::array<selion::counter*, 3> all{&arrived.mine()[0], &arrived.mine()[1],
                                              &arrived.mine()[2]};
    const std::chrono::nanoseconds delay = world.size() <= 8 ? 5ms : 1ms;
    for (const std::size_t which : {2u, 1u, 0u}) {
        world.barrier();
        if (world.rank() != 0) test.equal(selion::wait_any(all), which);
        way.idle(delay);
        selion::put(cells.at(test.neighbour()), std::uint64_t{1},
                    {.target = arrived.at(test.neighbour(), which)});
        if (world.rank() == 0) test.equal(selion::wait_any(all), which);
    }
    world.barrier();
}

SPMD_TEST(counter, everything_may_be_empty_unaligned_or_my_own) {
    spmd::guarded_range range(world, 64);
    spmd::symmetric_array<selion::counter> arrived(world, 1);
    selion::counter done;
    range.clear();
    world.barrier();
    for (const std::uint32_t to : {test.neighbour(0), test.neighbour(1)}) {
        selion::put(range.on(to, 3), std::span<const std::byte>(),
                    {.origin = &done, .target = arrived.at(to, 0), .completion = &done});
        done.wait(2);
        std::vector<std::byte> none;
        selion::get(std::span(none), range.on(to, 5), {.origin = &done, .completion = &done});
        done.wait(2);
    }
    arrived.mine()[0].wait(2);
    world.barrier();
    selion::put(range.on(world.rank(), 7), spmd::message(world.rank(), 13), done);
    done.wait(1);
    range.check(test, spmd::message(world.rank(), 13), 7);
    world.barrier();
}

SPMD_TEST(counter, quiet_of_one_target) {
    spmd::symmetric_array<std::uint64_t> cells(world, world.size());
    for (std::uint32_t d = 0; d < world.size(); ++d) {
        selion::put(cells.at(test.neighbour(d), world.rank()), std::uint64_t{d} + 1);
        selion::quiet(test.neighbour(d));
    }
    world.sync();
    for (std::uint32_t d = 0; d < world.size(); ++d) {
        test.equal(cells.mine()[test.neighbour_before(d)], std::uint64_t{d} + 1);
    }
    world.barrier();
}

SPMD_TEST(store, is_counted_in_bytes_at_its_target) {
    spmd::symmetric_array<double> cells(world, 16);
    const std::array<double, 4> four{1, 2, 3, 4.0 + world.rank()};
    selion::store(cells.at(test.neighbour(), 0), 0.5);
    selion::store(cells.at(test.neighbour(), 1), std::span<const double>(four));
    selion::store_sync(5 * sizeof(double));
    test.equal(cells.mine()[0], 0.5);
    test.equal(cells.mine()[4], 4.0 + test.neighbour_before());
    selion::all_store_sync(world);
}

}  // namespace
