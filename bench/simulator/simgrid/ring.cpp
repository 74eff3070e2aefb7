// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "measured_modes.hpp"
#include "platform.hpp"

namespace bench {

namespace s4u = simgrid::s4u;

int ring(const request& what) {
    constexpr std::uint64_t message_bytes = 8;
    const std::uint64_t ranks = what["ranks"];
    const stopwatch watch;
    const auto hosts = make_hosts(what["hosts"]);
    std::vector<s4u::Mailbox*> boxes(ranks);
    for (std::uint64_t i = 0; i < ranks; ++i) boxes[i] = s4u::Mailbox::by_name(std::to_string(i));
    std::uint64_t token = 0;
    for (std::uint64_t i = 0; i < ranks; ++i) {
        s4u::Actor::create(std::to_string(i), hosts[i % hosts.size()], [&, i] {
            s4u::Mailbox* const next = boxes[(i + 1) % ranks];
            if (i == 0) next->put(&token, message_bytes);
            boxes[i]->get<std::uint64_t>();
            if (i != 0) return next->put(&token, message_bytes);
            row("ring", "SimGrid").add("ranks", ranks).add_times(watch, 1).print();
        });
    }
    s4u::Engine::get_instance()->run();
    return 0;
}

}  // namespace bench
