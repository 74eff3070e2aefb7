// SPDX-License-Identifier: Apache-2.0
// tuned place: the name of this host in tables.
// tuned COLLECTIVE BYTES [full]: each rank says how that would be carried out; then collectives
// come out right; with a heap that is full, those of short blocks.
#include <unistd.h>
#include <selion/selion.hpp>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace {

void say(const std::string& text) {
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

/// @return whether sums and copies are what they must be.
bool comes_out_right(const selion::world& world, std::size_t count) {
    const std::uint32_t rank = world.rank();
    std::vector<std::uint64_t> all(count, rank + 1);
    world.all_reduce(std::span(all), selion::plus);
    std::vector<std::uint64_t> one(count, rank);
    world.broadcast(std::span(one), world.size() - 1);
    world.barrier();
    const std::uint64_t sum = world.size() * (world.size() + 1ull) / 2;
    const auto total = world.reduce(std::uint64_t{rank} + 1, selion::plus, world.size() - 1);
    return all == std::vector(count, sum) && total.value_or(sum) == sum &&
           one == std::vector<std::uint64_t>(count, world.size() - 1);
}

/// Until nothing is left of this rank's heap.
void fill_heap(selion::world& world) {
    for (std::size_t bytes = std::size_t{1} << 30; bytes != 0;) {
        try {
            static_cast<void>(selion::allocate<std::byte>(world, bytes));
        } catch (const selion::error&) {
            bytes /= 2;
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2) say(selion::usual_tuning_place().host + "\n");
    if (argc < 3) return 0;
    const auto what = selion::collective_of(argv[1]);
    const auto bytes = static_cast<std::size_t>(std::atol(argv[2]));
    return selion::run(argc, argv, [&](selion::world& world) {
        if (argc > 3) fill_heap(world);
        const auto found = world.explain(what, bytes);
        say("rank " + std::to_string(world.rank()) + ": " + text_of(found.choice) + ", " +
            std::string(name_of(found.reason)) + ", of " +
            std::to_string((found.is_measured ? found.candidates.size() : 0)) + "\n");
        for (const std::size_t count : {1, 8, 100, 10000}) {
            if (count > 8 && argc > 3) break;
            if (!comes_out_right(world, count)) return 1;
        }
        return 0;
    });
}
