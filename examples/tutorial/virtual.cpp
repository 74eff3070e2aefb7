// SPDX-License-Identifier: Apache-2.0
// virtual.cpp
#include <cstdint>
#include <cstdio>

#include <selion/selion.hpp>

constexpr std::uint64_t elements = 4'000'000;

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const std::uint64_t mine =
            elements * (world.rank() + 1) / world.size() - elements * world.rank() / world.size();
        world.barrier();
        const std::int64_t start = world.now();

        double sum = 0;
        for (std::uint64_t i = 0; i < mine; ++i) sum += 1;
        selion::charge((selion::loads(1) + selion::flops(1)) * mine);  // what that loop costs
        sum = world.all_reduce(sum, selion::plus);

        const double own = static_cast<double>(world.now() - start) / 1e6;
        const double slowest = world.all_reduce(own, selion::maximum);
        if (world.rank() == 0) {
            std::printf("%u ranks: sum %.0f in %.3f ms\n", world.size(), sum, slowest);
        }
    });
}
