// SPDX-License-Identifier: Apache-2.0
// grid_answer.cpp
#include <cstdint>
#include <cstdio>
#include <vector>

#include <selion/selion.hpp>

struct place {
    std::uint32_t value;
    std::uint32_t rank;
};

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const std::uint32_t value = 7 * world.rank() % 5;
        const auto greater = [](place a, place b) {
            if (a.value != b.value) return a.value > b.value ? a : b;
            return a.rank < b.rank ? a : b;
        };
        const place top = world.all_reduce(place{value, world.rank()}, greater);
        const std::vector<std::uint32_t> all = world.all_gather(value);
        if (world.rank() == top.rank) {
            std::printf("the greatest of");
            for (const std::uint32_t each : all) std::printf(" %u", each);
            std::printf(" is %u, first on rank %u\n", top.value, top.rank);
        }
    });
}
