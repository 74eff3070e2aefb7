// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "measured_modes.hpp"
#include "platform.hpp"

namespace bench {

namespace s4u = simgrid::s4u;

/// SimGrid's own barrier: it takes no time in the simulated world and sends nothing.
int barrier(const request& what) {
    const std::uint64_t ranks = what["ranks"];
    const std::uint64_t rounds = what["rounds"];
    const auto hosts = make_hosts(1);
    const s4u::BarrierPtr meeting = s4u::Barrier::create(static_cast<unsigned>(ranks));
    for (std::uint64_t i = 0; i < ranks; ++i) {
        s4u::Actor::create(std::to_string(i), hosts[0], [&, i] {
            meeting->wait();
            const stopwatch watch;
            for (std::uint64_t round = 0; round < rounds; ++round) meeting->wait();
            if (i != 0) return;
            row("barrier", "SimGrid, built in")
                .add("ranks", ranks)
                .add("rounds", rounds)
                .add_times(watch, rounds)
                .print();
        });
    }
    s4u::Engine::get_instance()->run();
    return 0;
}

}  // namespace bench
