// SPDX-License-Identifier: Apache-2.0
/// That messages of one rank to another keep their order, whichever ways they go.
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

/// What a rank has received, found by handlers through the global address space.
struct received {
    selion::signal arrived;
    std::uint64_t in_order;
};

struct numbered {
    selion::global_ptr<received> box;
    std::uint64_t number;
};

selion::arrival take(const numbered& came, selion::message_info) {
    received& box = *came.box.local();
    box.in_order += came.number == box.in_order ? 1 : 0;
    selion::notify(came.box.member(&received::arrived), selion::signal_add(1));
    return {};
}

/// Two words in all, so it goes the short way, where there is one.
void send_short(selion::rank_id to, const numbered& sent) {
    selion::send(
        to, [](const numbered& came, selion::message_info about) { return take(came, about); },
        sent);
}

SPMD_TEST(message, the_short_way_and_longer_ones_keep_one_order) {
    spmd::symmetric_array<received> box(world, 1);
    const std::uint64_t count = test.rounds(6000, 600);
    const std::vector<std::byte> data = spmd::message(1, 200);
    const selion::rank_id to = test.neighbour();
    for (std::uint64_t i = 0; i < count; ++i) {
        const numbered next{box.at(to), i};
        // Answers free the places of a row; without one the next messages go elsewhere.
        if (i % 50 < 20 || i % 3 == 0) {
            send_short(to, next);
        } else if (i % 3 == 1) {
            selion::send(to, take, next);
        } else {
            selion::send(to, take, next, data);
        }
        if (i % 50 < 20)
            test.equal(selion::rpc(to, [](std::uint64_t x) { return x + 1; }, i).get(), i + 1);
    }
    selion::wait_until(box.own().member(&received::arrived), count);
    test.equal(box.mine()->in_order, count);
    world.barrier();
}

/// What a handler is to send, and to whom.
struct burst {
    selion::global_ptr<received> box;
    std::uint64_t messages;
};

SPMD_TEST(message, what_a_handler_found_no_room_for_goes_first) {
    if (!world.machine().capabilities.real_time) return test.skip("nobody sleeps there");
    using std::chrono::milliseconds;
    spmd::symmetric_array<received> box(world, 1);
    constexpr std::uint64_t by_handler = 1500;  // more than there is room for
    constexpr std::uint64_t all = by_handler + 100;
    const bool sends = world.rank() % 2 == 0;
    const selion::rank_id to = test.neighbour();
    world.barrier();
    if (sends) {
        selion::send(
            to,
            [](const int&, selion::message_info) {
                std::this_thread::sleep_for(milliseconds(5));  // while its rings become full
                return selion::arrival{};
            },
            0);
        selion::rpc(
            world.rank(),
            [](const burst& what) {
                for (std::uint64_t i = 0; i < what.messages; ++i) {
                    send_short(what.box.rank(), {what.box, i});
                }
            },
            burst{box.at(to), by_handler})
            .get();
        std::this_thread::sleep_for(milliseconds(20));  // there is room again meanwhile
        for (std::uint64_t i = by_handler; i < all; ++i) send_short(to, {box.at(to), i});
    }
    if (test.neighbour_before() % 2 == 0) {
        selion::wait_until(box.own().member(&received::arrived), all);
        test.equal(box.mine()->in_order, all);
    }
    world.barrier();
}

}  // namespace
