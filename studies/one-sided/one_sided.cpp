// SPDX-License-Identifier: Apache-2.0
// Study `one-sided`: puts and gets with counters between two ranks. See one-sided.md.
#include <cstdio>
#include <string>

#include <selion/selion.hpp>

#include "harness/arguments.hpp"
#include "harness/rows.hpp"
#include "points.hpp"
#include "processor.hpp"

namespace {

one_sided::measurement read_point(const std::string& experiment,
                                  const nlohmann::ordered_json& params) {
    using enum one_sided::transfer_figure;
    if (experiment == "latency") return one_sided::read_transfer(params, latency);
    if (experiment == "bandwidth") return one_sided::read_transfer(params, bandwidth);
    if (experiment == "queue-depth") return one_sided::read_queue(params);
    if (experiment == "overlap" || experiment == "light-overlap") {
        return one_sided::read_overlap(params, one_sided::waiting::wait_counter);
    }
    if (experiment == "polled-overlap") {
        return one_sided::read_overlap(params, one_sided::waiting::poll_counter);
    }
    if (experiment == "faulty-link") return one_sided::read_faulty_link(params);
    if (experiment == "silent-target") return one_sided::read_silent_target(params);
    throw study::bad_argument(
        "'" + experiment +
        "' is no experiment; legal: latency, bandwidth, queue-depth, "
        "overlap, polled-overlap, light-overlap, faulty-link, silent-target.");
}

/// Why a machine cannot do a point; empty if it can.
std::string reason_to_skip(const selion::world& world, const nlohmann::ordered_json& params) {
    const std::string& spec = world.machine().spec;
    if (world.size() != 2) {
        return "it is about two ranks, and " + spec + " has " + std::to_string(world.size());
    }
    if (params.contains("loss") && world.machine().capabilities.real_time) {
        return "no message of " + spec + " gets lost";
    }
    if (!params.contains("progress")) return {};
    const bool wants_interrupts = params["progress"] == "interrupt";
    // Who is interrupted computes meanwhile, and would let no rank of its thread run.
    const bool shares_processor =
        world.machine().capabilities.real_time && selion::usable_cores() < world.size();
    if (wants_interrupts && shares_processor) {
        return "ranks of " + spec + " that are interrupted need a processor each";
    }
    if (wants_interrupts == one_sided::interrupts_ranks(world)) return {};
    return wants_interrupts ? "no message interrupts a rank of " + spec
                            : "messages interrupt the ranks of " + spec;
}

void expect_progress(const nlohmann::ordered_json& params) {
    if (!params.contains("progress")) return;
    const auto name = study::parameter<std::string>(params, "progress");
    if (name == "polling" || name == "interrupt") return;
    throw study::bad_argument("'progress' is '" + name + "'; legal: polling, interrupt.");
}

}  // namespace

int main(int argc, char** argv) try {
    const study::arguments given = study::parse_arguments(argc, argv);
    const one_sided::measurement measure = read_point(given.experiment, given.params);
    expect_progress(given.params);
    return selion::run(argc, argv, [&](selion::world& world) {
        if (const std::string reason = reason_to_skip(world, given.params); !reason.empty()) {
            if (world.rank() != 0) return;
            std::printf("%s\n", nlohmann::json{{"skipped", reason}}.dump().c_str());
            return;
        }
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            measure(world, {given.params, world.size(), repetition});
        }
    });
} catch (const study::bad_argument& mistake) {
    std::fprintf(stderr, "study_one_sided: %s\n", mistake.what());
    return 2;
}
