// SPDX-License-Identifier: Apache-2.0
// racing.cpp
#include <cstdio>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const auto count = selion::allocate<int>(world, 2).on(0);
        world.barrier();
        for (int i = 0; i < 100; ++i) {
            selion::put(count, selion::get(count) + 1);  // a race
            selion::fetch_add(count + 1, 1);
        }
        world.barrier();
        if (world.rank() == 0) {
            std::printf("%d and %d of %u\n", selion::get(count), selion::get(count + 1),
                        100 * world.size());
        }
    });
}
