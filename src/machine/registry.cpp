// SPDX-License-Identifier: Apache-2.0
#include "machine/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "base/knobs.hpp"
#include "base/nearest_name.hpp"
#include "machine/fabric/fabric.hpp"
#include "machine/process/launch_signs.hpp"
#include "machine/processes/processes.hpp"
#include "machine/sim/sim_machine.hpp"
#include "machine/threads/threads.hpp"

namespace selion::machine {
namespace {

std::string legal_forms() {
    std::vector<std::string> forms;
    for (const machine_kind& kind : kinds()) {
        const machine_kind_info info = kind.describe();
        forms.insert(forms.end(), info.forms.begin(), info.forms.end());
    }
    return fmt::format("legal forms are {}, and key=value options after commas",
                       fmt::join(forms, ", "));
}

error unknown_kind(const machine_spec& spec) {
    std::vector<std::string> names;
    for (const machine_kind& kind : kinds()) names.push_back(kind.describe().name);
    const bool is_file = spec.kind.find('/') != std::string::npos || spec.kind.ends_with(".toml");
    const std::string hint = is_file ? fmt::format(" (did you mean sim:{}?)", spec.text)
                                     : base::did_you_mean(spec.kind, names);
    return {status::bad_argument, fmt::format("machine \"{}\": there is no kind \"{}\"{}; {}",
                                              spec.text, spec.kind, hint, legal_forms())};
}

}  // namespace

std::span<const machine_kind> kinds() {
    static constexpr std::array all{machine_kind{describe_fabric, make_fabric},
                                    machine_kind{describe_processes, make_processes},
                                    machine_kind{describe_sim, make_sim},
                                    machine_kind{describe_threads, make_threads}};
    return all;
}

result<std::unique_ptr<machine>> make_machine(std::string_view text) {
    try {
        base::expect_legal_knobs();
    } catch (const error& trouble) {
        return trouble;
    }
    const result<machine_spec> spec = split_spec(text);
    if (!spec) {
        return error(status::bad_argument,
                     fmt::format("{}; {}", spec.trouble().what(), legal_forms()));
    }
    for (const machine_kind& kind : kinds()) {
        if (kind.describe().name == spec.value().kind) return kind.make(spec.value());
    }
    return unknown_kind(spec.value());
}

std::string choose_spec(const std::string& wanted) {
    const launch_signs signs = read_launch_signs();
    if (signs.has_server && describe_fabric().available) return "fabric";
    if (signs.tasks > 1) {
        throw error(
            status::system_failure,
            fmt::format("{} says that {} processes of this program were launched, but {}; launch "
                        "with mpirun of Open MPI, prterun or `srun --mpi=pmix`, or set "
                        "SELION_MACHINE if each process shall be a job of its own",
                        signs.tasks_by, signs.tasks,
                        signs.has_server
                            ? "the machine fabric is not available: " + describe_fabric().reason
                            : "no PMIx server is there"));
    }
    return wanted.empty() ? "threads" : wanted;
}

}  // namespace selion::machine

namespace selion {

std::vector<machine_kind_info> machine_kinds() {
    std::vector<machine_kind_info> all;
    for (const machine::machine_kind& kind : machine::kinds()) all.push_back(kind.describe());
    return all;
}

}  // namespace selion
