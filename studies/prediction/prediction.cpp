// SPDX-License-Identifier: Apache-2.0
// Study `prediction`: each point runs first on a simulated machine, then on the machine at hand.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include <selion/selion.hpp>

#include "calls.hpp"
#include "fields.hpp"
#include "harness/arguments.hpp"
#include "harness/rows.hpp"

namespace {

/// Collective: the nanoseconds that the point is about.
using timing = std::function<study::spread(selion::world&)>;

timing read_point(const study::arguments& given) {
    if (given.experiment == "operations") {
        const prediction::timed_call call = prediction::read_call(given.params);
        return [call](selion::world& world) { return prediction::time_call(world, call); };
    }
    if (given.experiment == "em3d") {
        const em3d::random_graph graph(prediction::read_graph(given.params));
        return [graph](selion::world& world) { return prediction::time_iterations(world, graph); };
    }
    throw study::bad_argument("'" + given.experiment +
                              "' is no experiment; legal: operations, em3d.");
}

/// What the first process predicts; the ranks' processes, which begin anew, find it here.
constexpr const char* predicted_variable = "STUDY_PREDICTED_NS";

/// Says why nothing is measured on any other number.
bool has_two_ranks(const selion::world& world) {
    if (world.size() == 2) return true;
    if (world.rank() == 0) {
        const std::string reason = "it is about two ranks, and " + world.machine().spec + " has " +
                                   std::to_string(world.size());
        std::printf("%s\n", nlohmann::json{{"skipped", reason}}.dump().c_str());
    }
    return false;
}

/// The file that a spec names, if it is not there. Empty: none is missing.
std::string missing_file(const std::string& spec) {
    const std::string name = spec.substr(4, spec.find(',') - 4);  // behind "sim:"
    const bool is_file = name.find('/') != std::string::npos || name.ends_with(".toml");
    return is_file && !std::filesystem::exists(name) ? name : std::string();
}

/// @return 0, or the status with which the simulated machine ended.
int predict(int argc, char** argv, const timing& point, const std::string& machine) {
    const char* const chosen = std::getenv("SELION_MACHINE");
    const std::string at_hand = chosen != nullptr ? chosen : "threads:2";
    // Two ranks, however many it has room for.
    setenv("SELION_MACHINE", (machine + ",ranks=2").c_str(), 1);
    double predicted_ns = 0;
    const int status = selion::run(argc, argv, [&](selion::world& world) {
        const study::spread time = point(world);
        if (world.rank() == 0) predicted_ns = time.median;
    });
    setenv("SELION_MACHINE", at_hand.c_str(), 1);
    setenv(predicted_variable, std::to_string(predicted_ns).c_str(), 1);
    return status;
}

void print_rows(const study::row_frame& frame, double predicted_ns, const study::spread& measured) {
    study::print_row(frame, {"predicted_ns", "ns"}, study::detail::rounded(predicted_ns));
    study::print_row(frame, {"measured_ns", "ns"}, measured);
    const double error = 100 * (predicted_ns - measured.median) / measured.median;
    study::print_row(frame, {"error_percent", "%"}, study::detail::rounded(error));
}

}  // namespace

int main(int argc, char** argv) try {
    const study::arguments given = study::parse_arguments(argc, argv);
    const timing point = read_point(given);
    if (std::getenv(predicted_variable) == nullptr) {
        const auto machine = study::parameter<std::string>(given.params, "predicted_on");
        if (machine.rfind("sim:", 0) != 0) {
            throw study::bad_argument("'predicted_on' is '" + machine +
                                      "'; legal: simulated machines, as sim:./this-host.toml, "
                                      "which `selion calibrate` writes.");
        }
        if (const std::string file = missing_file(machine); !file.empty()) {
            const std::string reason = "there is no " + file + "; 'selion calibrate' writes one";
            std::printf("%s\n", nlohmann::json{{"skipped", reason}}.dump().c_str());
            return 0;
        }
        const int status = predict(argc, argv, point, machine);
        if (status != 0) return status;
    }
    const double predicted_ns = std::strtod(std::getenv(predicted_variable), nullptr);
    return selion::run(argc, argv, [&](selion::world& world) {
        if (!has_two_ranks(world)) return;
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            const study::spread measured = point(world);
            if (world.rank() != 0) continue;
            print_rows({given.params, world.size(), repetition}, predicted_ns, measured);
        }
    });
} catch (const study::bad_argument& mistake) {
    std::fprintf(stderr, "study_prediction: %s\n", mistake.what());
    return 2;
}
