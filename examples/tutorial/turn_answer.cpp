// SPDX-License-Identifier: Apache-2.0
// turn_answer.cpp
#include <cstdint>
#include <cstdio>

#include <selion/selion.hpp>

constexpr std::size_t n = 100;

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const selion::spread_array<std::uint8_t, 1> is_composite(world, {n}, selion::runs{8},
                                                                 "sieve");
        for (std::size_t factor = 2; factor * factor < n; ++factor) {
            if (is_composite(factor)) continue;
            world.sync();  // all have looked before anybody writes
            is_composite.for_mine([&](std::uint8_t& element, std::size_t i) {
                if (i > factor && i % factor == 0) element = 1;
            });
            world.barrier();
        }
        std::uint32_t primes = 0;
        is_composite.for_mine([&](std::uint8_t& element, std::size_t i) {
            if (i >= 2 && element == 0) ++primes;
        });
        primes = world.all_reduce(primes, selion::plus);
        if (world.rank() == 0) std::printf("%u primes below %zu\n", primes, n);
        selion::deallocate(world, is_composite);
    });
}
