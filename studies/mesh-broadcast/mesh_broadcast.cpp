// SPDX-License-Identifier: Apache-2.0
// Study `mesh-broadcast`: every core of a mesh sends to all others. See mesh-broadcast.md.
#include <cstdio>
#include <string>

#include <selion/selion.hpp>

#include "experiments.hpp"
#include "harness/arguments.hpp"
#include "harness/rows.hpp"

namespace {

mesh_broadcast::measurement read_point(const study::arguments& given) {
    const std::string& experiment = given.experiment;
    if (experiment == "orders") return mesh_broadcast::read_orders(given, false);
    if (experiment == "equal-costs" || experiment == "larger-meshes") {
        return mesh_broadcast::read_orders(given, true);
    }
    if (experiment == "gain" || experiment == "gain-by-remainder") {
        return mesh_broadcast::read_gain(given);
    }
    if (experiment == "unrolling") return mesh_broadcast::read_unrolling(given);
    if (experiment == "links") return mesh_broadcast::read_links(given);
    if (experiment == "dma") return mesh_broadcast::read_transfer(given);
    if (experiment == "methods") return mesh_broadcast::read_methods(given);
    if (experiment == "long-data") return mesh_broadcast::read_long_data(given);
    if (experiment == "collective") return mesh_broadcast::read_collective(given);
    throw study::bad_argument("'" + experiment + "' is no experiment.");
}

}  // namespace

int main(int argc, char** argv) try {
    const study::arguments given = study::parse_arguments(argc, argv);
    const mesh_broadcast::measurement measure = read_point(given);
    return selion::run(argc, argv, [&](selion::world& world) {
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            measure(world, {given.params, world.size(), repetition});
        }
    });
} catch (const study::bad_argument& mistake) {
    std::fprintf(stderr, "study_mesh_broadcast: %s\n", mistake.what());
    return 2;
}
