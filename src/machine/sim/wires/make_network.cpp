// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/make_network.hpp"

#include "machine/sim/wires/bus_network.hpp"
#include "machine/sim/wires/crossbar_network.hpp"
#include "machine/sim/wires/mesh_messages.hpp"
#include "machine/sim/wires/mesh_network.hpp"
#include "machine/sim/wires/torus_network.hpp"

namespace selion::machine::sim {
namespace {

std::unique_ptr<network> make_torus(const machine_model& model) {
    std::vector<std::uint32_t> node_of_rank(model.ranks);
    const std::uint32_t each = model.ranks_per_node();
    for (std::uint32_t rank = 0; rank < model.ranks; ++rank) node_of_rank[rank] = rank / each;
    const std::uint32_t nodes = (model.ranks + each - 1) / each;
    return make_torus_network(model.torus, nodes, std::move(node_of_rank));
}

std::unique_ptr<network> make_mesh(const mesh_model& model) {
    const bool has_messages = model.granularity == mesh_granularity::messages;
    return has_messages ? make_mesh_messages(model) : make_mesh_network(model);
}

}  // namespace

std::unique_ptr<network> make_network(const machine_model& model) {
    switch (model.network) {
        case network_kind::bus: return make_bus_network(model.bus, model.ranks);
        case network_kind::mesh: return make_mesh(model.mesh);
        case network_kind::torus: return make_torus(model);
        case network_kind::none:
        case network_kind::crossbar: break;
    }
    return make_crossbar_network(model.crossbar, model.ranks);
}

}  // namespace selion::machine::sim
