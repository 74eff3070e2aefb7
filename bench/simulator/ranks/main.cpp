// SPDX-License-Identifier: Apache-2.0
// What simulated ranks cost the host. Each mode is one process, so that its time and its memory are
// its own.
#include <array>

#include "measured_modes.hpp"

int main(int argc, char** argv) {
    const std::array<bench::mode, 5> modes{{
        {"ping_pong", {{"ranks", 2, 2}, {"rounds", 1'000'000}}, bench::ping_pong},
        {"ring", {{"ranks", 100'000, 2}}, bench::ring},
        {"barrier", {{"ranks", 10'000}, {"rounds", 5}}, bench::barrier},
        {"messages", {{"ranks", 10'000, 2}, {"rounds", 100}}, bench::messages},
        {"events", {{"pending", 1'000}, {"rounds", 1'000}}, bench::events},
    }};
    return bench::run_mode(argc, argv, modes);
}
