// SPDX-License-Identifier: Apache-2.0
#include "platform.hpp"

#include <string>

namespace bench {

namespace s4u = simgrid::s4u;

std::vector<s4u::Host*> make_hosts(std::uint64_t count) {
    constexpr double bytes_per_second = 1e9;
    constexpr double seconds_to_switch = 0.5e-6;
    constexpr double flops_per_second = 1e9;
    std::vector<s4u::Host*> hosts;
    s4u::NetZone* const zone = s4u::create_star_zone("crossbar");
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string name = std::to_string(i);
        hosts.push_back(zone->create_host(name, flops_per_second)->seal());
        const s4u::Link* const port =
            zone->create_split_duplex_link("port" + name, bytes_per_second)
                ->set_latency(seconds_to_switch)
                ->seal();
        zone->add_route(hosts.back()->get_netpoint(), nullptr, nullptr, nullptr,
                        {{port, s4u::LinkInRoute::Direction::UP}}, true);
    }
    zone->seal();
    return hosts;
}

}  // namespace bench
