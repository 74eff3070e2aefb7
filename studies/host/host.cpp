// SPDX-License-Identifier: Apache-2.0
// Study `host`: what the basic operations cost on the machine at hand, on any number of ranks.
#include <cstdio>

#include <selion/selion.hpp>

#include "harness/arguments.hpp"
#include "harness/rows.hpp"
#include "measure.hpp"
#include "operation.hpp"

namespace {

enum class experiment { latency, rate };

experiment read_experiment(const std::string& name) {
    if (name == "latency") return experiment::latency;
    if (name == "rate") return experiment::rate;
    throw study::bad_argument("'" + name + "' is no experiment; legal: latency, rate.");
}

/// Calls a second from nanoseconds per call: the slowest block gives the lowest rate.
study::spread rate_of(const study::spread& time, double per_call) {
    const double unit = 1e9 * per_call;
    return {unit / time.median, unit / time.p95, unit / time.p5, time.n};
}

void measure_latency(selion::world& world, const host::measured_call& call,
                     const host::repeated_call& calls, const study::row_frame& frame) {
    const auto who = call.meets() ? host::callers::all_ranks : host::callers::first_rank;
    const study::spread time = host::time_calls(world, calls, who);
    if (world.rank() == 0) study::print_row(frame, {"latency_ns", "ns"}, time);
}

void measure_rate(selion::world& world, const host::measured_call& call,
                  const host::repeated_call& calls, const study::row_frame& frame) {
    const study::spread time = host::time_calls(world, calls, host::callers::all_ranks);
    if (world.rank() != 0) return;
    const double at_once = call.meets() ? 1.0 : static_cast<double>(world.size());
    study::print_row(frame, {"operations_per_s", "operations/s"}, rate_of(time, at_once));
    if (!call.moves_payload()) return;
    constexpr double mib = 1 << 20;
    study::print_row(frame, {"bandwidth_mib_per_s", "MiB/s"},
                     rate_of(time, at_once * static_cast<double>(call.bytes) / mib));
}

}  // namespace

int main(int argc, char** argv) try {
    const study::arguments given = study::parse_arguments(argc, argv);
    const experiment wanted = read_experiment(given.experiment);
    const host::measured_call call = host::read_call(given.params);
    return selion::run(argc, argv, [&](selion::world& world) {
        const host::repeated_call calls = host::prepare(world, call);
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            const study::row_frame frame{given.params, world.size(), repetition};
            if (wanted == experiment::latency) {
                measure_latency(world, call, calls, frame);
            } else {
                measure_rate(world, call, calls, frame);
            }
        }
    });
} catch (const study::bad_argument& mistake) {
    std::fprintf(stderr, "study_host: %s\n", mistake.what());
    return 2;
}
