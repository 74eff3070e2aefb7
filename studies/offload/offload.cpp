// SPDX-License-Identifier: Apache-2.0
// Study `offload`: a host, its workers, and the bus between them. See offload.md.
#include <cstdio>
#include <string>

#include <selion/selion.hpp>

#include "experiments.hpp"

namespace {

offload::measurement read_point(const study::arguments& given) {
    const std::string& experiment = given.experiment;
    if (experiment == "transfer") return offload::read_transfer(given);
    if (experiment == "call-overhead") return offload::read_call_overhead(given);
    if (experiment == "matmul") return offload::read_matmul(given);
    if (experiment == "scaling" || experiment == "improvements" ||
        experiment == "scaling-with-overheads") {
        return offload::read_scaling(given);
    }
    if (experiment == "broadcast") return offload::read_broadcast(given);
    if (experiment == "exchange") return offload::read_exchange(given);
    if (experiment == "train") return offload::read_training(given);
    throw study::bad_argument("'" + experiment + "' is no experiment.");
}

}  // namespace

int main(int argc, char** argv) try {
    // A worker's arguments are its host's; it never comes further than `run`.
    const study::arguments given = study::parse_arguments(argc, argv);
    const offload::measurement measure = read_point(given);
    return selion::run(argc, argv, [&](selion::world& world) {
        // Where time is real every rank would be the host of processes of its own.
        if (world.machine().capabilities.real_time && world.rank() != 0) return;
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            measure(world, {given.params, world.size(), repetition});
        }
    });
} catch (const study::bad_argument& mistake) {
    std::fprintf(stderr, "study_offload: %s\n", mistake.what());
    return 2;
}
