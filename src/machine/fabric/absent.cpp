// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "machine/fabric/fabric.hpp"
#include "selion/machines.hpp"

/// What a build says of the machine that leaves it out.
namespace selion::machine {

machine_kind_info describe_fabric() {
    return {.name = "fabric",
            .forms = {"fabric", "fabric:N", "fabric:xT", "fabric:PxT"},
            .summary = "ranks are processes on many hosts, over libfabric",
            .facts = {},
            .available = false,
            .reason =
                "this build leaves it out: configure with -DSELION_FABRIC=ON where libfabric "
                "1.17 and PMIx can be found (Debian: libfabric-dev, libpmix-dev)"};
}

result<std::unique_ptr<machine>> make_fabric(const machine_spec& spec) {
    return error(status::system_failure,
                 fmt::format("machine \"{}\": {}", spec.text, describe_fabric().reason));
}

}  // namespace selion::machine

namespace selion {

std::vector<fabric_offer> fabric_offers() {
    throw error(status::system_failure, "fabric: " + machine::describe_fabric().reason);
}

std::vector<std::string> fabric_ranking() { return {}; }

}  // namespace selion
