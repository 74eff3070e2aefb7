// SPDX-License-Identifier: Apache-2.0
/// Every atomic operation on every type of element, fetched and not, waited for and counted.
#include <array>
#include <cmath>
#include <limits>

#include "conformance/memory_parts.hpp"

namespace {

/// Each rank works on the cell of its neighbour.
template <class T>
struct cell_of_neighbour {
    cell_of_neighbour(spmd::test_run& test, selion::world& world)
        : cells(world, 1), cell(cells.at(test.neighbour())) {}
    T operator*() const { return selion::atomic_get(cell); }

    spmd::symmetric_array<T> cells;
    selion::global_ptr<T> cell;
};

template <class T>
void arithmetic(spmd::test_run& test, selion::world& world) {
    const cell_of_neighbour<T> cell(test, world);
    const T low = std::numeric_limits<T>::lowest();
    const T high = std::numeric_limits<T>::max();
    test.equal(selion::swap(cell.cell, T(5)), T(0));
    test.equal(selion::fetch_add(cell.cell, T(2)), T(5));
    test.equal(selion::fetch_min(cell.cell, T(3)), T(7));
    test.equal(selion::fetch_min(cell.cell, high), T(3));
    test.equal(selion::fetch_max(cell.cell, T(11)), T(3));
    test.equal(selion::fetch_max(cell.cell, low), T(11));
    selion::atomic_add(cell.cell, T(1));
    selion::atomic_min(cell.cell, T(100));
    selion::atomic_max(cell.cell, T(1));
    selion::quiet();
    test.equal(*cell, T(12));
    selion::counter done;
    T before = 0;
    selion::swap(&before, cell.cell, T(20), done);
    done.wait(1);
    test.equal(before, T(12));
    selion::fetch_add(static_cast<T*>(nullptr), cell.cell, T(1), done);
    done.wait(1);
    test.equal(*cell, T(21));
    selion::fetch_min(&before, cell.cell, T(8), done);
    done.wait(1);
    test.equal(before, T(21));
    selion::fetch_max(&before, cell.cell, T(9), done);
    done.wait(1);
    test.equal(before, T(8));
    selion::atomic_get(&before, cell.cell, done);
    done.wait(1);
    test.equal(before, T(9));
    world.barrier();
}

template <class T>
void integers(spmd::test_run& test, selion::world& world) {
    arithmetic<T>(test, world);
    const cell_of_neighbour<T> cell(test, world);
    const T all = static_cast<T>(~T{0});
    test.equal(selion::fetch_or(cell.cell, T(0b1100)), T(0));
    test.equal(selion::fetch_and(cell.cell, T(0b0110)), T(0b1100));
    test.equal(selion::fetch_xor(cell.cell, T(0b0101)), T(0b0100));
    selion::atomic_or(cell.cell, T(0b1000));
    selion::atomic_xor(cell.cell, all);
    selion::atomic_and(cell.cell, T(0b1111));
    selion::quiet();
    test.equal(*cell, T(0b0110));
    test.equal(selion::compare_swap(cell.cell, T(1), T(2)), T(0b0110));
    test.equal(selion::compare_swap(cell.cell, T(0b0110), T(2)), T(0b0110));
    // Sums wrap.
    selion::atomic_put(cell.cell, std::numeric_limits<T>::max());
    test.equal(selion::fetch_add(cell.cell, T(1)), std::numeric_limits<T>::max());
    test.equal(*cell, std::numeric_limits<T>::min());
    selion::counter done;
    T before = 0;
    selion::compare_swap(&before, cell.cell, std::numeric_limits<T>::min(), T(9), done);
    selion::fetch_or(static_cast<T*>(nullptr), cell.cell, T(0x40), done);
    done.wait(2);
    test.equal(before, std::numeric_limits<T>::min());
    test.equal(*cell, T(0x49));
    selion::fetch_and(&before, cell.cell, T(0x0f), done);
    done.wait(1);
    test.equal(before, T(0x49));
    selion::fetch_xor(&before, cell.cell, T(0x01), done);
    done.wait(1);
    test.equal(before, T(0x09));
    test.equal(*cell, T(0x08));
    world.barrier();
}

/// A reference does what the functions do, and both see the same element.
template <class T>
void arithmetic_by_reference(spmd::test_run& test, selion::world& world) {
    const cell_of_neighbour<T> cell(test, world);
    const selion::atomic_ref element(cell.cell);
    test.that(element.target() == cell.cell, "it refers to the cell");
    element.put(T(5));
    test.equal(*cell, T(5));
    test.equal(element.swap(T(6)), T(5));
    test.equal(element.fetch_add(T(2)), T(6));
    test.equal(element.fetch_min(T(3)), T(8));
    test.equal(element.fetch_max(T(4)), T(3));
    test.equal(element.get(), T(4));
    test.equal(*cell, T(4));
    world.barrier();
}

template <class T>
void integers_by_reference(spmd::test_run& test, selion::world& world) {
    arithmetic_by_reference<T>(test, world);
    const cell_of_neighbour<T> cell(test, world);
    const selion::atomic_ref element(cell.cell);
    test.equal(element.fetch_or(T(0b1100)), T(0));
    test.equal(element.fetch_and(T(0b0110)), T(0b1100));
    test.equal(element.fetch_xor(T(0b0101)), T(0b0100));
    test.equal(element.compare_swap(T(0), T(7)), T(1));
    test.equal(element.compare_swap(T(1), T(7)), T(1));
    test.equal(*cell, T(7));
    world.barrier();
}

SPMD_TEST(atomic_kinds, by_reference) {
    integers_by_reference<std::int32_t>(test, world);
    integers_by_reference<std::uint64_t>(test, world);
    arithmetic_by_reference<float>(test, world);
    arithmetic_by_reference<double>(test, world);
}

/// An answer fills its place and nothing beside it, and later ones leave it alone.
template <class T>
void answers_in_place(spmd::test_run& test, selion::world& world) {
    const cell_of_neighbour<T> cell(test, world);
    selion::counter done;
    std::array<T, 3> answers{T(70), T(71), T(72)};
    selion::fetch_add(&answers[1], cell.cell, T(5), done);
    done.wait(1);
    const std::array<T, 3> expected{T(70), T(0), T(72)};
    test.equal(answers, expected);
    test.equal(selion::fetch_add(cell.cell, T(1)), T(5));
    test.equal(answers, expected);
    // Counters count for their operation alone.
    selion::counter reusable;
    selion::counter complete;
    T got{};
    selion::get(std::span(&got, 1), cell.cell, {.origin = &reusable, .completion = &complete});
    reusable.wait(1);
    complete.wait(1);
    selion::fetch_add(&answers[2], cell.cell, T(1), done);
    done.wait(1);
    test.equal(selion::fetch_add(cell.cell, T(1)), T(7));
    test.equal(answers, std::array<T, 3>{T(70), T(0), T(6)});
    test.equal(reusable.value() + complete.value() + done.value(), 0);
    world.barrier();
}

SPMD_TEST(atomic_kinds, answers_lie_in_their_places_alone) {
    answers_in_place<std::int32_t>(test, world);
    answers_in_place<float>(test, world);
    answers_in_place<std::uint64_t>(test, world);
}

/// All ranks add to the cells of all.
SPMD_TEST(atomic_kinds, references_to_many_ranks_lose_nothing) {
    spmd::symmetric_array<std::uint64_t> sums(world, 1);
    const std::uint32_t rounds = test.rounds(8000, 20);
    const std::uint32_t first = world.rank();
    for (std::uint32_t other = 0; other < world.size(); ++other) {
        const selion::atomic_ref sum(sums.at((first + other) % world.size()));
        for (std::uint32_t i = 0; i < rounds / world.size() + 1; ++i) sum.fetch_add(1);
    }
    world.barrier();
    test.equal(selion::get(sums.at(first)),
               std::uint64_t{world.size()} * (rounds / world.size() + 1));
    world.barrier();
}

SPMD_TEST(atomic_kinds, signed_32) { integers<std::int32_t>(test, world); }
SPMD_TEST(atomic_kinds, unsigned_32) { integers<std::uint32_t>(test, world); }
SPMD_TEST(atomic_kinds, signed_64) { integers<std::int64_t>(test, world); }
SPMD_TEST(atomic_kinds, unsigned_64) { integers<std::uint64_t>(test, world); }
SPMD_TEST(atomic_kinds, single_precision) { arithmetic<float>(test, world); }
SPMD_TEST(atomic_kinds, double_precision) { arithmetic<double>(test, world); }

SPMD_TEST(atomic_kinds, signed_minimum_is_no_unsigned_one) {
    const cell_of_neighbour<std::int64_t> cell(test, world);
    test.equal(selion::fetch_min(cell.cell, -4), 0);
    test.equal(selion::fetch_max(cell.cell, -9), -4);
    test.equal(*cell, -4);
    world.barrier();
}

SPMD_TEST(atomic_kinds, a_number_wins_over_none) {
    const cell_of_neighbour<double> cell(test, world);
    const double none = std::numeric_limits<double>::quiet_NaN();
    selion::atomic_put(cell.cell, 3.0);
    selion::atomic_min(cell.cell, none);
    selion::atomic_max(cell.cell, none);
    test.equal(*cell, 3.0);
    selion::atomic_put(cell.cell, none);
    selion::atomic_max(cell.cell, -1.0);
    test.equal(*cell, -1.0);
    world.barrier();
}

SPMD_TEST(atomic_kinds, sums_of_all_ranks_lose_nothing) {
    spmd::symmetric_array<double> sums(world, 1);
    spmd::symmetric_array<std::uint64_t> bits(world, 1);
    const std::uint32_t rounds = test.rounds(8000, 20);
    for (std::uint32_t i = 0; i < rounds; ++i) {
        selion::atomic_add(sums.at(0), 0.25);
        selion::atomic_or(bits.at(0), std::uint64_t{1} << (world.rank() + i) % 64);
    }
    world.barrier();
    test.equal(selion::get(sums.at(0)), 0.25 * rounds * world.size());
    test.that(selion::get(bits.at(0)) != 0, "bits have been set");
    world.barrier();
}

}  // namespace
