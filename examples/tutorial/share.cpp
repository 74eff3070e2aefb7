// SPDX-License-Identifier: Apache-2.0
// share.cpp
#include <cstdio>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        auto row = selion::allocate<int>(world, 4);  // four ints on every rank, all zero
        const std::uint32_t rank = world.rank();
        const std::uint32_t right = (rank + 1) % world.size();

        row.local()[0] = 10 * static_cast<int>(rank);            // my own memory
        selion::put(row.on(right) + 1, static_cast<int>(rank));  // one element of the neighbour's
        world.barrier();

        const int theirs = selion::get(row.on(right));  // the neighbour's element 0
        std::printf("rank %u: %d was put here, %d is next door\n", rank, row.local()[1], theirs);
        selion::deallocate(world, row);
    });
}
