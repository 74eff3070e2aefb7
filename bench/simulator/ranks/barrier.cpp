// SPDX-License-Identifier: Apache-2.0
#include "measured_modes.hpp"

namespace bench {

/// Barriers of messages, after a first one that touches the memory they need. Rank 0 leaves that
/// one while others are still in it, and the same at the end: what the first lends, the last gives
/// back.
int barrier(const request& what) {
    const std::uint64_t rounds = what["rounds"];
    return selion::run(what.argc, what.argv, on_crossbar(what), [&](selion::world& world) {
        world.sync();
        const stopwatch watch;
        for (std::uint64_t round = 0; round < rounds; ++round) world.sync();
        if (world.rank() == 0) {
            row_of("barrier", world).add("rounds", rounds).add_times(watch, rounds).print();
        }
    });
}

}  // namespace bench
