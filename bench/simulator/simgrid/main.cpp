// SPDX-License-Identifier: Apache-2.0
// SimGrid's actors in the places of simulated ranks: the same operations as bench_simulator.
#include <array>

#include "measured_modes.hpp"
#include "platform.hpp"

int main(int argc, char** argv) {
    const simgrid::s4u::Engine engine(&argc, argv);  // takes its own options, --cfg=NAME:VALUE
    const std::array<bench::mode, 4> modes{{
        {"ping_pong", {{"rounds", 100'000}}, bench::ping_pong},
        {"ring", {{"ranks", 100'000, 2}, {"hosts", 2}}, bench::ring},
        {"barrier", {{"ranks", 10'000}, {"rounds", 5}}, bench::barrier},
        {"dissemination",
         {{"ranks", 10'000, 2}, {"rounds", 1}, {"hosts", 2}},
         bench::dissemination},
    }};
    return bench::run_mode(argc, argv, modes);
}
