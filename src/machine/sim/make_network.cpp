// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/make_network.hpp"

#include "machine/sim/bus_network.hpp"
#include "machine/sim/crossbar_network.hpp"

namespace selion::machine::sim {

std::unique_ptr<network> make_network(const machine_model& model) {
    if (model.network == network_kind::bus) return make_bus_network(model.bus, model.ranks);
    return make_crossbar_network(model.crossbar, model.ranks);
}

}  // namespace selion::machine::sim
