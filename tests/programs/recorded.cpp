// SPDX-License-Identifier: Apache-2.0
// Runs whose records are looked at: handlers that compute and send while their ranks have
// operations in progress, and copies of an array for several workers at once.
//   test_recorded handlers|replicas
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <selion/selion.hpp>

namespace {

void answer_while_putting(selion::world& world) {
    const auto cell = selion::allocate<double>(world, 1);
    world.barrier();
    if (world.rank() == 0) {
        for (int i = 0; i < 50; ++i) {
            const auto pass_on = [](int number) {
                if (number % 2 == 0) selion::charge(selion::nanoseconds(700));
                selion::rpc_oneway(3, [](int) {}, number);
            };
            selion::rpc_oneway(1, pass_on, i);
            selion::charge(selion::nanoseconds(137));
        }
    }
    if (world.rank() == 1) {
        for (int i = 0; i < 200; ++i) selion::put(cell.on(2), 1.0);
    }
    world.barrier();
    world.barrier();
}

void replicate(selion::world& world) {
    const auto room = selion::allocate<double>(world, 512);
    const std::vector<double> some(512);
    world.barrier();
    // Transfers that were used before are used again.
    if (world.rank() != 1) {
        for (int i = 0; i < 40; ++i) selion::put(room.on(1), std::span(some));
    }
    world.barrier();
    selion::worker_pool pool(world, {.kind = selion::worker_kind::rank});
    if (!pool.is_host()) return;
    const std::vector<double> copied(256, 1.0);
    for (int i = 0; i < 5; ++i) static_cast<void>(pool.replicate(copied));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 64;
    return selion::run(argc, argv, [&](selion::world& world) {
        std::string_view(argv[1]) == "handlers" ? answer_while_putting(world) : replicate(world);
    });
}
