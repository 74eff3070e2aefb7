// SPDX-License-Identifier: Apache-2.0
// share_answer.cpp
#include <cstdio>
#include <span>
#include <vector>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        auto row = selion::allocate<int>(world, 4);
        for (int i = 0; i < 4; ++i) row.local()[i] = 10 * static_cast<int>(world.rank()) + i;
        world.barrier();

        if (world.rank() == 0) {
            std::vector<int> table(4 * world.size());
            for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
                selion::get(std::span(table).subspan(4 * rank, 4), row.on(rank));
            }
            for (const int element : table) std::printf("%d ", element);
            std::printf("\n");
        }
        selion::deallocate(world, row);
    });
}
