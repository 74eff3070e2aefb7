// SPDX-License-Identifier: Apache-2.0
#include "measured_modes.hpp"

namespace bench {

/// All ranks pass a token to the next one at the same time, again and again: as many messages are
/// under way as there are ranks.
int messages(const request& what) {
    const std::uint64_t rounds = what["rounds"];
    return selion::run(what.argc, what.argv, on_crossbar(what), [&](selion::world& world) {
        const auto own = make_signal(world);
        const auto next = own.on((world.rank() + 1) % world.size());
        const auto pass = [&](std::uint64_t round) {
            selion::notify(next, selion::signal_set(round));
            selion::wait_until(own, round);
        };
        pass(1);  // touches the memory that it needs
        pass(2);
        const stopwatch watch;
        for (std::uint64_t round = 3; round < rounds + 3; ++round) pass(round);
        if (world.rank() == 0) {
            row_of("messages", world)
                .add("rounds", rounds)
                .add_times(watch, rounds * world.size())
                .print();
        }
    });
}

}  // namespace bench
