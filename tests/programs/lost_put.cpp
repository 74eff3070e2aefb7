// SPDX-License-Identifier: Apache-2.0
// A put behind a broadcast. Rank 0 broadcasts 1 into x; as soon as rank 1 has its copy it puts 5
// into the last rank's x. Where ranks leave a collective before all have what they need, the put
// can come before the broadcast does, and is lost.
//   test_lost_put loose|strict|exit
#include <cstdio>
#include <string_view>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "loose";
    return selion::run(argc, argv, [&](selion::world& world) {
        selion::collective_sync sync = selion::loose;
        if (how == "strict") sync = selion::strict;
        if (how == "exit") sync.exit = selion::sync_mode::all;
        const auto x = selion::allocate<int>(world, 1);
        const std::uint32_t last = world.size() - 1;
        const auto own = x.on(world.rank());
        *own.local() = world.rank() == 0 ? 1 : 0;
        world.barrier();
        world.with(sync).broadcast(std::span(own.local(), 1), 0);
        if (world.rank() == 1) selion::put(x.on(last), 5);
        world.barrier();
        const bool is_lost = world.rank() == last && *own.local() != 5;
        if (is_lost) std::fprintf(stderr, "lost_put: x is %d, not 5\n", *own.local());
        selion::deallocate(world, x);
        return is_lost ? 1 : 0;
    });
}
