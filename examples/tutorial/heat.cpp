// SPDX-License-Identifier: Apache-2.0
// heat.cpp
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <selion/selion.hpp>

constexpr std::size_t all_cells = 960;
constexpr std::uint64_t steps = 500;
enum side { from_left, from_right };

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        if (world.size() > all_cells) {  // each rank needs one
            if (world.rank() == 0) std::printf("%u ranks, %zu cells\n", world.size(), all_cells);
            return 2;
        }
        const std::uint32_t right = (world.rank() + 1) % world.size();
        const std::uint32_t left = (world.rank() + world.size() - 1) % world.size();

        // My part of the ring: plain memory. Cell 0 of the whole ring is hot.
        const std::size_t first = all_cells * world.rank() / world.size();
        const std::size_t mine = all_cells * (world.rank() + 1) / world.size() - first;
        std::vector<double> now(mine), next(mine);
        if (first == 0) now[0] = 1000;

        // What the neighbours write: two cells for even steps, two for odd ones, and two signals.
        auto halo = selion::allocate<double>(world, 4);
        auto arrived = selion::allocate<selion::signal>(world, 2);

        for (std::uint64_t step = 0; step < steps; ++step) {
            const int half = step % 2 == 0 ? 0 : 2;
            const auto count = selion::signal_set(step + 1);
            selion::put_signal(halo.on(right) + (half + from_left), now.back(),
                               arrived.on(right) + from_left, count);
            selion::put_signal(halo.on(left) + (half + from_right), now.front(),
                               arrived.on(left) + from_right, count);
            selion::wait_until(arrived + from_left, step + 1);
            selion::wait_until(arrived + from_right, step + 1);

            const double* ends = halo.local() + half;
            for (std::size_t i = 0; i < mine; ++i) {
                const double before = i == 0 ? ends[from_left] : now[i - 1];
                const double after = i + 1 == mine ? ends[from_right] : now[i + 1];
                next[i] = 0.25 * before + 0.5 * now[i] + 0.25 * after;
            }
            std::swap(now, next);
        }

        double sum = 0, hottest = 0;
        for (const double value : now) {
            sum += value;
            hottest = value > hottest ? value : hottest;
        }
        sum = world.all_reduce(sum, selion::plus);
        hottest = world.all_reduce(hottest, selion::maximum);
        if (world.rank() == 0) std::printf("heat %.6f, hottest cell %.12f\n", sum, hottest);
        selion::deallocate(world, arrived);
        selion::deallocate(world, halo);
        return 0;
    });
}
