// SPDX-License-Identifier: Apache-2.0
#include "measured_modes.hpp"
#include "platform.hpp"

namespace bench {

namespace s4u = simgrid::s4u;

int ping_pong(const request& what) {
    constexpr std::uint64_t message_bytes = 8;
    const std::uint64_t rounds = what["rounds"];
    const auto hosts = make_hosts(2);
    s4u::Mailbox* const there = s4u::Mailbox::by_name("there");
    s4u::Mailbox* const back = s4u::Mailbox::by_name("back");
    std::uint64_t word = 0;
    s4u::Actor::create("0", hosts[0], [&] {
        const stopwatch watch;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            there->put(&word, message_bytes);
            back->get<std::uint64_t>();
        }
        row("ping-pong", "SimGrid").add("rounds", rounds).add_times(watch, rounds).print();
    });
    s4u::Actor::create("1", hosts[1], [&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            there->get<std::uint64_t>();
            back->put(&word, message_bytes);
        }
    });
    s4u::Engine::get_instance()->run();
    return 0;
}

}  // namespace bench
