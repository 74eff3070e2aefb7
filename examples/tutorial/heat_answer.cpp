// SPDX-License-Identifier: Apache-2.0
// heat_answer.cpp
#include <cstdint>
#include <cstdio>

#include <selion/selion.hpp>

constexpr std::uint64_t rounds = 1000;

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const std::uint32_t next = (world.rank() + 1) % world.size();
        auto baton = selion::allocate<std::uint64_t>(world, 1);
        auto arrived = selion::allocate<selion::signal>(world, 1);

        for (std::uint64_t round = 1; round <= rounds; ++round) {
            // Rank 0 begins each round; the others wait for the baton first.
            if (world.rank() != 0) selion::wait_until(arrived, round);
            const std::uint64_t steps = *baton.local() + 1;
            selion::put_signal(baton.on(next), steps, arrived.on(next), selion::signal_set(round));
            if (world.rank() == 0) selion::wait_until(arrived, round);
        }
        if (world.rank() == 0) {
            std::printf("the baton has changed hands %lu times\n",
                        static_cast<unsigned long>(*baton.local()));
        }
        selion::deallocate(world, arrived);
        selion::deallocate(world, baton);
    });
}
