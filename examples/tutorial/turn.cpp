// SPDX-License-Identifier: Apache-2.0
// turn.cpp
#include <cstdio>
#include <vector>

#include <selion/selion.hpp>

constexpr std::size_t n = 8;

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        using matrix = selion::spread_array<int, 2>;
        const matrix a(world, {n, n}, selion::tiles(2, 4), "a");  // tiles of 2 x 4, in turn
        const matrix b(world, {n, n}, selion::tiles(4, 2), "b");

        // Each rank fills the elements that lie with it.
        a.for_mine([](int& element, std::size_t i, std::size_t j) {
            element = static_cast<int>(10 * i + j);
        });
        world.barrier();

        // b is a turned: each rank fetches what its own tiles need, whoever has it.
        for (const auto& tile : b.my_tiles()) {
            const auto [row, column] = tile.elements().first;
            std::vector<int> part(2 * 4);
            a.read({{column, row}, {2, 4}}, part);
            for (std::size_t i = 0; i < 4; ++i) {
                for (std::size_t j = 0; j < 2; ++j) tile(i, j) = part[4 * j + i];
            }
        }
        world.barrier();

        if (world.rank() == 0) {
            std::printf("b(3, 5) is %d and lies on rank %u\n", int{b(3, 5)},
                        std::uint32_t{b.owner(3, 5)});
            b(0, 0) = 99;  // an assignment is a put
        }
        world.barrier();
        if (b.owner(0, 0) == world.rank()) std::printf("b(0, 0) is %d\n", *b.to_local(0, 0));
        for (const matrix& array : {a, b}) selion::deallocate(world, array);
    });
}
