// SPDX-License-Identifier: Apache-2.0
/// Spread arrays of several layouts: elements, parts, slices, and from one layout to another.
#include <cstdint>
#include <numeric>
#include <vector>

#include <selion/spread_array.hpp>
#include <selion/spread_slice.hpp>

#include "conformance/memory_parts.hpp"

namespace {

using selion::coordinates;

constexpr std::size_t rows = 13;
constexpr std::size_t columns = 10;
using spread_matrix = selion::spread_array<std::uint64_t, 2>;

std::uint64_t first_value(std::size_t i, std::size_t j) { return 1000 * i + j; }

void fill(selion::world& world, const spread_matrix& array) {
    array.for_mine(
        [](std::uint64_t& element, std::size_t i, std::size_t j) { element = first_value(i, j); });
    world.barrier();
}

/// Grids that there are ranks for.
std::vector<selion::distribution<2>> distributions(const selion::world& world) {
    const std::size_t ranks = world.size();
    const std::size_t half = ranks / 2 == 0 ? 1 : ranks / 2;
    const std::size_t two = ranks >= 2 ? 2 : 1;
    return {selion::tiles(1, 1),
            selion::tiles(4, 3),
            selion::tiles(rows, columns),
            selion::on_grid(selion::block(ranks), selion::whole()),
            selion::on_grid(selion::whole(), selion::cyclic(ranks)),
            selion::on_grid(selion::block_cyclic(2, two), selion::block(half))};
}

template <class Body>
void with_each(selion::world& world, const Body& body) {
    for (const auto& how : distributions(world)) {
        const spread_matrix array(world, {rows, columns}, how, "numbers");
        body(array);
        selion::deallocate(world, array);
    }
    const spread_matrix array(world, {rows, columns}, selion::runs{5}, "runs");
    body(array);
    selion::deallocate(world, array);
}

}  // namespace

SPMD_TEST(spread_array, elements_of_all_ranks) {
    with_each(world, [&](const spread_matrix& array) {
        test.equal(std::uint64_t{array(3, 4)}, std::uint64_t{0});
        world.barrier();
        fill(world, array);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < columns; ++j) {
                if (array(i, j) != first_value(i, j)) ++wrong;
            }
        }
        test.equal(wrong, std::size_t{0});
        world.barrier();
        // Each element is changed by one rank, mostly not its owner.
        for (std::size_t i = world.rank(); i < rows; i += world.size()) {
            for (std::size_t j = 0; j < columns; ++j) array(i, j) += 7;
            array(i, 0) = array(i, 1);
        }
        world.barrier();
        array.for_mine([&](const std::uint64_t& element, std::size_t i, std::size_t j) {
            if (element != first_value(i, j == 0 ? 1 : j) + 7) ++wrong;
            if (&element != array.to_local(i, j)) ++wrong;
            if (array.owner(i, j) != world.rank()) ++wrong;
            if (&element != &array.local()[array.local_index(i, j)]) ++wrong;
        });
        test.equal(wrong, std::size_t{0});
        world.barrier();
    });
}

SPMD_TEST(spread_array, everybody_has_its_elements_once) {
    with_each(world, [&](const spread_matrix& array) {
        std::uint64_t mine = 0;
        std::uint64_t in_rows = 0;
        array.for_mine([&](std::uint64_t, std::size_t, std::size_t) { ++mine; });
        for (const auto& tile : array.my_tiles()) {
            tile.for_rows(
                [&](std::span<std::uint64_t> row, coordinates<2>) { in_rows += row.size(); });
        }
        test.equal(mine, in_rows);
        test.equal(world.all_reduce(mine, selion::plus), std::uint64_t{rows * columns});
    });
}

SPMD_TEST(spread_array, boxes) {
    with_each(world, [&](const spread_matrix& array) {
        fill(world, array);
        std::size_t wrong = 0;
        const auto expect = [&](const selion::spread_box<2>& box) {
            std::vector<std::uint64_t> values(selion::size_of(box), 1);
            array.read(box, values);
            for (std::size_t n = 0; n < values.size(); ++n) {
                const std::size_t i = box.first[0] + n / box.extents[1];
                const std::size_t j = box.first[1] + n % box.extents[1];
                if (values[n] != first_value(i, j)) ++wrong;
            }
        };
        expect({{0, 0}, {rows, columns}});
        expect({{3, 2}, {7, 5}});
        expect({{12, 9}, {1, 1}});
        expect({{5, 0}, {0, 4}});
        expect({{rows + 3, 0}, {0, 4}});  // nothing, of a partition that has run out
        test.equal(wrong, std::size_t{0});
        world.barrier();
        // Rank 0 writes a box, all others see it.
        const selion::spread_box<2> box{{2, 3}, {9, 6}};
        if (world.rank() == 0) {
            std::vector<std::uint64_t> values(selion::size_of(box));
            std::iota(values.begin(), values.end(), 5);
            array.write(box, values);
        }
        world.barrier();
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < columns; ++j) {
                const bool is_in_box = i >= 2 && i < 11 && j >= 3 && j < 9;
                const std::uint64_t now = is_in_box ? (i - 2) * 6 + (j - 3) + 5 : first_value(i, j);
                if (array(i, j) != now) ++wrong;
            }
        }
        test.equal(wrong, std::size_t{0});
        world.barrier();
    });
}

SPMD_TEST(spread_array, transfers_in_two_phases) {
    with_each(world, [&](const spread_matrix& array) {
        fill(world, array);
        std::vector<std::uint64_t> column(rows);
        selion::transfers under_way;
        for (std::size_t i = 0; i < rows; ++i) under_way.get(column[i], array.address(i, 4));
        under_way.sync();
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            if (column[i] != first_value(i, 4)) ++wrong;
        }
        test.equal(wrong, std::size_t{0});
        world.barrier();
        for (std::size_t i = world.rank(); i < rows; i += world.size()) {
            under_way.put(array.address(i, 4), i);
            selion::store(array.address(i, 5), i + 1);
        }
        under_way.sync();
        selion::all_store_sync(world);
        std::uint64_t stored = 0;
        array.for_mine([&](const std::uint64_t& element, std::size_t, std::size_t j) {
            if (j == 5) stored += sizeof(element);
        });
        selion::store_sync(stored);  // they are still to be counted
        for (std::size_t i = 0; i < rows; ++i) {
            if (array(i, 4) != i || array(i, 5) != i + 1) ++wrong;
        }
        test.equal(wrong, std::size_t{0});
        world.barrier();
    });
}

SPMD_TEST(spread_array, slices) {
    with_each(world, [&](const spread_matrix& array) {
        fill(world, array);
        std::size_t wrong = 0;
        const auto column = selion::slice(array, selion::every, 3);
        test.equal(column.extent(0), rows);
        std::vector<std::uint64_t> values(rows);
        column.read(values);
        for (std::size_t i = 0; i < rows; ++i) {
            if (values[i] != first_value(i, 3) || column(i) != first_value(i, 3)) ++wrong;
        }
        const auto part =
            selion::slice(array, selion::index_range{1, 5, 2}, selion::index_range{2, 3});
        values.assign(15, 0);
        part.read(values);
        for (std::size_t n = 0; n < 15; ++n) {
            if (values[n] != first_value(1 + 2 * (n / 3), 2 + n % 3)) ++wrong;
        }
        const auto rows_apart = selion::slice(array, selion::index_range{0, 4, 3}, selion::every);
        values.assign(4 * columns, 0);
        selion::transfers under_way;
        rows_apart.get(under_way, values);
        under_way.sync();
        for (std::size_t n = 0; n < values.size(); ++n) {
            if (values[n] != first_value(3 * (n / columns), n % columns)) ++wrong;
        }
        selion::slice(array, selion::index_range{rows + 1, 0}, selion::every).read({});
        test.equal(wrong, std::size_t{0});
        test.equal(std::uint32_t{part.owner(2, 1)}, std::uint32_t{array.owner(5, 3)});
        world.barrier();
        if (world.rank() == world.size() - 1) {
            const auto row = selion::slice(array, 6, selion::every);
            const std::vector<std::uint64_t> ones(columns, 1);
            row.write(ones);
            part(0, 0) = 17;
        }
        world.barrier();
        test.equal(std::uint64_t{array(6, 9)}, std::uint64_t{1});
        test.equal(std::uint64_t{array(1, 2)}, std::uint64_t{17});
        world.barrier();
    });
}

/// A copy of the handle is the same array on whichever rank it has come to.
SPMD_TEST(spread_array, a_handle_that_travels) {
    const spread_matrix array(world, {rows, columns}, selion::tiles(2, 3), "numbers");
    const selion::rank_id next = test.neighbour();
    selion::rpc(next, [array] {
        array.for_mine([](std::uint64_t& element, std::size_t i, std::size_t j) {
            element = first_value(i, j);
        });
    }).get();
    world.barrier();
    std::size_t wrong = 0;
    array.for_mine([&](std::uint64_t element, std::size_t i, std::size_t j) {
        if (element != first_value(i, j)) ++wrong;
    });
    test.equal(wrong, std::size_t{0});
    selion::deallocate(world, array);
}

SPMD_TEST(spread_array, an_element_of_each_rank) {
    const selion::spread_array<std::uint8_t, 1> counts(world, {world.size()}, selion::runs{1});
    test.equal(std::uint32_t{counts.owner(world.rank())}, std::uint32_t{world.rank()});
    ++counts(world.rank());
    counts(world.rank()) ^= 4;
    world.barrier();
    test.equal(std::uint32_t{counts(test.neighbour())}, 5u);
    world.barrier();
    selion::deallocate(world, counts);
}

SPMD_TEST(spread_array, another_layout) {
    const auto all = distributions(world);
    for (const auto& from : all) {
        const spread_matrix before(world, {rows, columns}, from, "before");
        fill(world, before);
        for (const auto& to : all) {
            const spread_matrix after(world, {rows, columns}, to, "after");
            selion::redistribute(world, before, after);
            std::size_t wrong = 0;
            after.for_mine([&](std::uint64_t element, std::size_t i, std::size_t j) {
                if (element != first_value(i, j)) ++wrong;
            });
            test.equal(wrong, std::size_t{0});
            selion::deallocate(world, after);
        }
        selion::deallocate(world, before);
    }
}

SPMD_TEST(spread_array, one_and_three_dimensions) {
    selion::spread_array<double, 1> line(world, {100}, selion::runs{7});
    line.for_mine([](double& element, std::size_t i) { element = static_cast<double>(i); });
    selion::spread_array<int, 3> cube(world, {3, 4, 5}, selion::tiles(1, 2, 2));
    cube.for_mine([](int& element, std::size_t i, std::size_t j, std::size_t k) {
        element = static_cast<int>(100 * i + 10 * j + k);
    });
    world.barrier();
    double sum = 0;
    for (std::size_t i = 0; i < 100; ++i) sum += line(i);
    test.equal(sum, 4950.0);
    if (world.rank() == 0) {  // the operand is not rounded to the element's type
        cube(2, 3, 4) *= 1.5;
        test.equal(int{cube(2, 3, 4)}, 351);
        cube(2, 3, 4) /= 0.5;
        test.equal(int{cube(2, 3, 4)}, 702);
    }
    std::vector<int> plane(3 * 5);
    selion::slice(cube, selion::every, 2, selion::every).read(plane);
    std::size_t wrong = 0;
    for (int n = 0; n < 15; ++n) {
        if (plane[static_cast<std::size_t>(n)] != 100 * (n / 5) + 20 + n % 5) ++wrong;
    }
    test.equal(wrong, std::size_t{0});
    selion::deallocate(world, line);
    selion::deallocate(world, cube);
}
