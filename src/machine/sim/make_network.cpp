// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/make_network.hpp"

#include "machine/sim/crossbar_network.hpp"

namespace selion::machine::sim {

std::unique_ptr<network> make_network(const machine_model& model) {
    return make_crossbar_network(model.crossbar, model.ranks);
}

}  // namespace selion::machine::sim
