// SPDX-License-Identifier: Apache-2.0
// words_answer.cpp
#include <cstdint>
#include <cstdio>

#include <selion/selion.hpp>

struct relay {
    selion::global_ptr<selion::signal> bell;  // of whoever began
    std::uint32_t hops;
};

// A message that is handed on: a handler may send, and must not wait.
selion::arrival hand_on(const relay& came, selion::message_info) {
    if (came.hops == 0) {
        selion::notify(came.bell, selion::signal_add(1));
    } else {
        const std::uint32_t next = (selion::this_rank() + 1) % selion::rank_count();
        selion::send(next, hand_on, relay{came.bell, came.hops - 1});
    }
    return {};
}

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        auto bell = selion::allocate<selion::signal>(world, 1);
        if (world.rank() == 0) {
            const std::uint32_t hops = 3 * world.size();
            selion::send(0, hand_on, relay{bell, hops});
            selion::wait_until(bell, 1);
            std::printf("the message is back after %u hops\n", hops);
        }
        world.barrier();
        selion::deallocate(world, bell);
    });
}
