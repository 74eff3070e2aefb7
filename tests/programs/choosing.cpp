// SPDX-License-Identifier: Apache-2.0
// An all_reduce that goes the way that is named, COUNT times, of vectors with COUNT elements and
// more.
//   test_choosing WAY COUNT, as in test_choosing messages:hierarchical:2:4 3
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: test_choosing WAY COUNT\n");
        return 2;
    }
    const auto how = selion::choice_of(argv[1]);
    const std::size_t count = std::strtoul(argv[2], nullptr, 10);
    return selion::run(argc, argv, [&](selion::world& world) {
        world.choose(selion::collective_kind::all_reduce, how);
        const std::uint64_t ranks = world.size();
        for (std::size_t turn = 0; turn < count; ++turn) {
            std::vector<std::uint64_t> values(turn % 2 == 0 ? 1 : 1000, world.rank() + 1);
            world.all_reduce(std::span(values), selion::plus);
            for (const std::uint64_t value : values) {
                if (value != ranks * (ranks + 1) / 2) return 1;
            }
        }
        return 0;
    });
}
