// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/sim/description/machine_file.hpp"
#include "machine/sim/description/run_setting.hpp"
#include "machine/sim/description/shipped_machines.hpp"
#include "machine/spec.hpp"
#include "selion/machines.hpp"

namespace selion {
namespace {

constexpr std::string_view kind = "sim:";

}  // namespace

std::vector<simulated_machine_info> simulated_machines() {
    namespace sim = machine::sim;
    std::vector<simulated_machine_info> all;
    for (const sim::shipped_machine& each : sim::shipped_machines()) {
        const sim::machine_model model = sim::load_machine(each.name, {}).value();
        all.push_back({model.name, model.summary, model.ranks, {}});
        for (const sim::option_note& option : model.options) {
            all.back().options.push_back(
                option.choices.empty()
                    ? option.key
                    : fmt::format("{}={}", option.key, fmt::join(option.choices, "|")));
        }
    }
    return all;
}

std::string explain_machine(std::string_view machine) {
    const std::string spec =
        machine.starts_with(kind) ? std::string(machine) : fmt::format("{}{}", kind, machine);
    machine::machine_spec parts = machine::split_spec(spec).value();
    machine::sim::take_run_setting(spec, parts.options);  // says nothing about the machine
    return machine::sim::explain(machine::sim::load_machine(parts.body, parts.options).value());
}

}  // namespace selion
