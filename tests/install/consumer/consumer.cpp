// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const auto sum = world.all_reduce(std::uint32_t{world.rank()} + 1, selion::plus);
        if (world.rank() == 0) std::printf("sum %u check level %d\n", sum, SELION_CHECK_LEVEL);
    });
}
