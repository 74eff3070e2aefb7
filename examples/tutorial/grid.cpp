// SPDX-License-Identifier: Apache-2.0
// grid.cpp
#include <cstdio>
#include <span>
#include <vector>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const std::uint32_t columns = 3;
        const std::uint32_t value = world.rank() + 1;

        // A grid of ranks: a team for my row, one for my column.
        const selion::team row = world.split(world.rank() / columns);
        const selion::team column = world.split(world.rank() % columns);
        const std::uint32_t across = row.all_reduce(value, selion::plus);
        const std::uint32_t down = column.all_reduce(value, selion::plus);
        const bool is_last = world.rank() + 1 == world.size();
        if (is_last) std::printf("last rank: its row %u, its column %u\n", across, down);

        // Of the whole world: where my part of a list begins, and the list on rank 0.
        const std::vector<std::uint32_t> part(value, value);  // as many as my number says
        const std::uint32_t begin = world.exscan(value, selion::plus, 0u);
        if (is_last) std::printf("last rank: my part begins at %u\n", begin);
        const auto list = world.gatherv(std::span(part), 0);
        if (world.rank() == 0) {
            for (const std::uint32_t number : list.values) std::printf("%u ", number);
            std::printf("\n");
        }
    });
}
