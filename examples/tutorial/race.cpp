// SPDX-License-Identifier: Apache-2.0
// race.cpp
#include <cstdio>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        auto letter = selion::allocate<int>(world, 1);
        auto told = selion::allocate<selion::signal>(world, 1);
        int read = 42;
        if (world.rank() == 0) {  // writes to rank 2, and tells rank 1
            selion::put(letter.on(2), 42);
            selion::notify(told.on(1), selion::signal_set(1));
        } else if (world.rank() == 1) {  // hands the news on
            selion::wait_until(told, 1);
            selion::notify(told.on(2), selion::signal_set(1));
        } else if (world.rank() == 2) {
            selion::wait_until(told, 1);
            read = selion::get(letter);
            std::printf("the letter says %d\n", read);
        }
        world.barrier();
        selion::deallocate(world, told);
        selion::deallocate(world, letter);
        return read == 42 ? 0 : 1;
    });
}
