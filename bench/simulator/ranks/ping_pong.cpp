// SPDX-License-Identifier: Apache-2.0
#include "measured_modes.hpp"

namespace bench {

int ping_pong(const request& what) {
    const std::uint64_t rounds = what["rounds"];
    return selion::run(what.argc, what.argv, on_crossbar(what), [&](selion::world& world) {
        const auto own = make_signal(world);
        world.sync();
        if (world.rank() > 1) return;
        const auto other = own.on(1 - world.rank());
        const stopwatch watch;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            if (world.rank() == 0) selion::notify(other, selion::signal_set(round));
            selion::wait_until(own, round);
            if (world.rank() == 1) selion::notify(other, selion::signal_set(round));
        }
        if (world.rank() == 0) {
            row_of("ping-pong", world).add("rounds", rounds).add_times(watch, rounds).print();
        }
    });
}

}  // namespace bench
