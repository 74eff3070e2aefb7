// SPDX-License-Identifier: Apache-2.0
/// Long puts and gets among short ones: machines take other ways for them, and their order with
/// what comes before and after has to hold all the same.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "conformance/spmd.hpp"

namespace {

constexpr std::size_t row_elements = std::size_t{1} << 15;
constexpr std::uint64_t rounds = 20;

std::vector<std::uint64_t> values_of(std::uint64_t round) {
    std::vector<std::uint64_t> values(row_elements);
    std::iota(values.begin(), values.end(), round * row_elements);
    return values;
}

SPMD_TEST(long_transfer, short_puts_before_a_long_one_do_not_come_after_it) {
    const auto cells = selion::allocate<std::uint64_t>(world, row_elements);
    const auto arrived = selion::allocate<selion::signal>(world, 1);
    const std::uint32_t next = test.neighbour(1);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        const std::vector<std::uint64_t> values = values_of(round);
        for (std::size_t i = 0; i < row_elements; i += row_elements / 32) {
            selion::put((cells + i).on(next), ~round);
        }
        selion::fence();
        selion::put(cells.on(next), std::span(values));
        selion::put((cells + row_elements / 2).on(next), round);
        selion::notify(arrived.on(next), selion::signal_set(round));
        selion::wait_until(arrived, round);
        std::vector<std::uint64_t> expected = values;
        expected[row_elements / 2] = round;
        test.that(std::equal(expected.begin(), expected.end(), cells.local()),
                  "the long put comes after the short ones before it and before those after it");
        world.barrier();
    }
    selion::deallocate(world, arrived);
    selion::deallocate(world, cells);
}

SPMD_TEST(long_transfer, a_signal_brings_its_long_data_and_a_long_get_sees_earlier_short_puts) {
    const auto cells = selion::allocate<std::uint64_t>(world, row_elements);
    const auto arrived = selion::allocate<selion::signal>(world, 1);
    const std::uint32_t next = test.neighbour(1);
    std::vector<std::uint64_t> back(row_elements);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        std::vector<std::uint64_t> values = values_of(round);
        selion::put_signal(cells.on(next), std::span(values), arrived.on(next),
                           selion::signal_add(1));
        selion::wait_until(arrived, round);
        test.that(std::equal(values.begin(), values.end(), cells.local()),
                  "who sees the signal sees its data");
        world.barrier();
        values[round] = 0;
        selion::put((cells + round).on(next), std::uint64_t{0});
        selion::get(std::span(back), cells.on(next));
        test.that(back == values, "a get sees the caller's earlier puts");
        world.barrier();
    }
    selion::deallocate(world, arrived);
    selion::deallocate(world, cells);
}

SPMD_TEST(long_transfer, of_a_list_that_is_told_all_has_been_read) {
    // So long that its provider still moves it when the short piece is asked for.
    const bool has_room = world.heap().reserved_bytes >= std::uint64_t{64} << 20;
    const bool is_large = world.machine().capabilities.real_time && world.size() <= 8 && has_room;
    const std::size_t size = is_large ? 32 * row_elements : 100;
    const auto cells = selion::allocate<std::uint64_t>(world, size);
    const auto read = selion::allocate<selion::counter>(world, 1);
    const auto first = cells.on(test.neighbour(1));
    const auto last = first + static_cast<std::ptrdiff_t>(size - 1);
    for (std::uint64_t round = 1; round <= 4; ++round) {
        std::fill_n(cells.local(), size, round);
        world.barrier();
        std::vector<std::uint64_t> back(size);
        const std::span into(back);
        const std::array list{selion::get_piece<std::uint64_t>{into.first(size - 1), first},
                              selion::get_piece<std::uint64_t>{into.last(1), last}};
        selion::counter done;
        selion::get_vector(list, {.target = read.on(test.neighbour(1)), .completion = &done});
        read.local()->wait();
        std::fill_n(cells.local(), size, ~round);
        done.wait();
        test.equal(std::count(back.begin(), back.end(), round), static_cast<std::ptrdiff_t>(size));
        world.barrier();
    }
    selion::deallocate(world, read);
    selion::deallocate(world, cells);
}

SPMD_TEST(long_transfer, quiet_waits_for_long_gets_that_were_started) {
    const auto cells = selion::allocate<std::uint64_t>(world, row_elements);
    selion::counter there;
    const std::uint32_t next = test.neighbour(1);
    const std::vector<std::uint64_t> values = values_of(world.rank() + 1);
    std::copy(values.begin(), values.end(), cells.local());
    world.barrier();
    constexpr std::size_t gets = 8;
    std::vector<std::vector<std::uint64_t>> back(gets, std::vector<std::uint64_t>(row_elements));
    for (auto& one : back) selion::get(std::span(one), cells.on(next), {.origin = &there});
    selion::quiet();
    for (const auto& one : back) {
        test.that(one == values_of(next + 1), "gets have arrived when quiet returns");
    }
    test.equal(there.value(), std::int64_t{gets});
    world.barrier();
    selion::deallocate(world, cells);
}

}  // namespace
