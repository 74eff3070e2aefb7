// SPDX-License-Identifier: Apache-2.0
// ending_in_time HOW: ranks whose ends lie at other virtual times than the host has them at.
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include <selion/selion.hpp>

namespace {

constexpr int late_status = 3;
constexpr int early_status = 5;

/// Rank 0 runs first, and is late; rank 1 is early.
void pass_time(const selion::world& world) {
    constexpr std::int64_t second = 1'000'000'000;
    if (world.rank() <= 1) selion::charge(selion::nanoseconds(world.rank() == 0 ? second : 1000));
}

int end(const selion::world& world, std::string_view how) {
    if (world.rank() > 1) return 0;
    const bool is_late = world.rank() == 0;
    const int status = is_late ? late_status : early_status;
    if (how == "throw") throw std::runtime_error(is_late ? "late" : "early");
    if (how == "exit") std::exit(status);
    if (how == "throw_late" && is_late) throw std::runtime_error("late");
    if (how == "exit_late" && is_late) std::exit(status);
    return how == "return" ? status : 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "return";
    return selion::run(argc, argv, [&](selion::world& world) -> int {
        world.barrier();
        pass_time(world);
        return end(world, how);
    });
}
