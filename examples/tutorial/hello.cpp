// SPDX-License-Identifier: Apache-2.0
// hello.cpp
#include <cstdio>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const std::uint32_t rank = world.rank();
        std::printf("rank %u of %u\n", rank, world.size());
    });
}
