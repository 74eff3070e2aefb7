// SPDX-License-Identifier: Apache-2.0
// Study `multicore-collectives`: collectives among the threads and processes of a node, and of a
// cluster of nodes. See multicore-collectives.md.
#include <cstdio>
#include <string>

#include <selion/selion.hpp>

#include "applications.hpp"
#include "cluster.hpp"
#include "harness/arguments.hpp"
#include "layers.hpp"
#include "mpi.hpp"
#include "synchronisation.hpp"
#include "trees.hpp"

namespace {

multicore::measurement read_point(const std::string& experiment,
                                  const nlohmann::ordered_json& params) {
    if (experiment.starts_with("threads-and-processes")) return multicore::read_layers(params);
    if (experiment == "radix") return multicore::read_radix(params);
    if (experiment.starts_with("summary")) return multicore::read_summary(params);
    if (experiment == "strict-and-loose") return multicore::read_synchronisation(params);
    if (experiment == "applications") return multicore::read_application(params);
    throw study::bad_argument("'" + experiment +
                              "' is no experiment; legal: threads-and-processes, tree-shape, "
                              "radix, summary, cluster-all-reduce, strict-and-loose, "
                              "applications, mpi.");
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc > 1 && std::string(argv[1]) == multicore::mpi_process) {
        return multicore::run_mpi_process(argc, argv);
    }
    const study::arguments given = study::parse_arguments(argc, argv);
    if (given.experiment == "cluster-all-reduce") {
        return multicore::run_cluster(argc, argv, given);
    }
    if (given.experiment == "mpi") return multicore::run_mpi(argc, argv, given);
    if (given.experiment == "tree-shape") {
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            multicore::print_tree_shape(given.params, repetition);
        }
        return 0;
    }
    const multicore::measurement measure = read_point(given.experiment, given.params);
    return selion::run(argc, argv, [&](selion::world& world) {
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            measure(world, {given.params, world.size(), repetition});
        }
    });
} catch (const study::bad_argument& mistake) {
    std::fprintf(stderr, "study_multicore_collectives: %s\n", mistake.what());
    return 2;
}
