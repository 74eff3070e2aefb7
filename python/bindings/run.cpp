// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <selion/detail/record_name.hpp>
#include <selion/detail/script_exception.hpp>
#include <selion/detail/script_place.hpp>
#include <selion/run.hpp>

#include "caller.hpp"
#include "living.hpp"
#include "module.hpp"

namespace bindings {

namespace {

/// Calls `rank_main(world)`, which answers with how it failed, or with nothing.
int call_rank(nb::handle rank_main, selion::world& all) {
    const selion::machine_description& machine = all.machine();
    if (machine.processes != machine.ranks && machine.capabilities.real_time) {
        throw std::runtime_error("ranks in Python need a process each: SELION_MACHINE=processes:N");
    }
    const nb::gil_scoped_acquire hold;
    const auto failure = nb::cast<std::string>(rank_main(world_object(all)));
    // Leaves the rank as an exception of C++, which ends the job for the other ranks too.
    if (!failure.empty()) throw selion::detail::script_exception(failure);
    return 0;
}

selion::thread_level level_named(std::string_view name) {
    if (name == "single") return selion::thread_level::single;
    if (name == "serialized") return selion::thread_level::serialized;
    if (name == "multiple") return selion::thread_level::multiple;
    const std::string sentence =
        "thread_level is '" + std::string(name) + "'; legal: single, serialized, multiple.";
    throw nb::value_error(sentence.c_str());
}

int run(nb::callable rank_main, const std::string& machine, const std::string& thread_level) {
    if (selion::detail::current_context->ranks != 0) {
        refuse_now(
            "A rank cannot run the program again: name the machine of the job that it is to have, "
            "as in selion.run(f, machine='processes:4').");
    }
    const selion::run_options options{machine, level_named(thread_level)};
    const lasting_job lasts;
    const nb::gil_scoped_release free;
    std::string name = "python";
    char* argv[] = {name.data(), nullptr};
    return selion::run(1, argv, options,
                       [&](selion::world& all) { return call_rank(rank_main, all); });
}

void note_script(std::uint64_t fingerprint, const std::map<std::string, std::uint64_t>& modules) {
    std::vector<selion::detail::script_module> all;
    for (const auto& [name, text] : modules) all.push_back({name, text});
    selion::detail::note_script(fingerprint, std::move(all));
}

/// Names of files may be any bytes.
nb::bytes name_for_other_job(const nb::bytes& value) {
    const std::string name = selion::detail::name_for_other_job({value.c_str(), value.size()});
    return nb::bytes(name.data(), name.size());
}

/// What is called as this process ends, and the process. @pre the GIL is held
std::pair<nb::object, pid_t>& last_call() {
    static auto* const all = new std::pair<nb::object, pid_t>;  // outlives Python
    return *all;
}

void call_last() {
    // A process that the rank has forked may come here, too.
    if (Py_IsInitialized() == 0 || last_call().second != getpid()) return;
    const nb::gil_scoped_acquire python;
    try {
        last_call().first();
    } catch (nb::python_error& trouble) {
        trouble.discard_as_unraisable("the end of the process");
    }
}

void call_at_exit(nb::object function) {
    last_call() = {std::move(function), getpid()};
    static const bool is_registered = std::atexit(&call_last) == 0;
    static_cast<void>(is_registered);
}

}  // namespace

void add_run(nb::module_& module) {
    module.def("run", &run, nb::arg("rank_main"), nb::arg("machine"), nb::arg("thread_level"),
               "Runs rank_main(world) -> failure once on every rank; see selion.run.");
    module.def("note_script", &note_script, nb::arg("fingerprint"), nb::arg("modules"),
               "Notes what script this program runs, and what modules it has loaded, by name, with "
               "fingerprints of their texts: ranks of many hosts compare them; 0: no script.");
    module.def(
        "name_for_other_job", &name_for_other_job, nb::arg("value"),
        "What SELION_METERS or SELION_TRACE is to be for a job that this process starts in "
        "others, so that it spares the files of those before it; empty: it records nothing.");
    module.def(
        "call_at_exit", &call_at_exit, nb::arg("function"),
        "Calls it as this process, which is a rank's, ends: nobody calls the rank any more.");
    module.def("leave_rank", &leave_rank, "This process, a child of a rank's, is no rank.");
}

}  // namespace bindings
