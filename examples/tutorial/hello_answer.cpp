// SPDX-License-Identifier: Apache-2.0
// hello_answer.cpp
#include <cstdio>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const std::uint32_t rank = world.rank();
        for (std::uint32_t turn = 0; turn < world.size(); ++turn) {
            if (rank == turn) {
                std::printf("rank %u of %u\n", rank, world.size());
                std::fflush(stdout);
            }
            world.barrier();
        }
    });
}
