// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <selion/machines.hpp>
#include <selion/tuning.hpp>

#include "module.hpp"

namespace bindings {

void add_machines(nb::module_& module) {
    using selion::knob_info;
    using selion::machine_kind_info;
    using selion::simulated_machine_info;

    documented<machine_kind_info>(module, "MachineKind")
        .def_ro("name", &machine_kind_info::name)
        .def_ro("forms", &machine_kind_info::forms)
        .def_ro("summary", &machine_kind_info::summary)
        .def_ro("facts", &machine_kind_info::facts)
        .def_ro("available", &machine_kind_info::available)
        .def_ro("reason", &machine_kind_info::reason);

    documented<selion::fabric_offer>(module, "FabricOffer")
        .def_ro("provider", &selion::fabric_offer::provider)
        .def_ro("interface", &selion::fabric_offer::interface)
        .def_ro("network", &selion::fabric_offer::network)
        .def_ro("is_chosen", &selion::fabric_offer::is_chosen)
        .def_ro("why_not", &selion::fabric_offer::why_not)
        .def_ro("has_stream", &selion::fabric_offer::has_stream)
        .def_ro("has_moves", &selion::fabric_offer::has_moves)
        .def_ro("has_atomics", &selion::fabric_offer::has_atomics)
        .def_ro("is_moving", &selion::fabric_offer::is_moving)
        .def_ro("has_wait_file", &selion::fabric_offer::has_wait_file);

    documented<simulated_machine_info>(module, "SimulatedMachine")
        .def_ro("name", &simulated_machine_info::name)
        .def_ro("summary", &simulated_machine_info::summary)
        .def_ro("ranks", &simulated_machine_info::ranks)
        .def_ro("options", &simulated_machine_info::options);

    documented<knob_info>(module, "Knob")
        .def_ro("name", &knob_info::name)
        .def_ro("default_value", &knob_info::default_value)
        .def_ro("help", &knob_info::help)
        .def_ro("current", &knob_info::current);

    module.def("machine_kinds", &selion::machine_kinds, "All machines that this build knows.");
    module.def("fabric_offers", &selion::fabric_offers,
               "All networks that libfabric offers. @error OSError if it cannot be asked.");
    module.def("fabric_ranking", &selion::fabric_ranking,
               "Providers of libfabric that are taken where they are there, the first one first.");
    module.def("simulated_machines", &selion::simulated_machines,
               "The simulated machines that come with the library, by name.");
    module.def("explain_machine", &selion::explain_machine, nb::arg("machine"),
               "What a simulated machine is, in words, with all constants and their sources.");
    module.def("knobs", &selion::knobs, "All variables that the runtime reads, sorted by name.");
    module.def("knob_trouble", &selion::knob_trouble,
               "Why no job would start, if a variable has a value that makes no sense, or \"\".");
    module.def("usable_cores", &selion::usable_cores,
               "Processors that this process may use: affinity and cgroup quota respected.");
    module.def("tuning_path_in_use", &selion::tuning_path_in_use,
               "Where a job would look for measured collectives; empty: nowhere.");
#if defined(__clang__)
    module.attr("compiler") = "clang " __clang_version__;
#else
    module.attr("compiler") = "g++ " __VERSION__;
#endif
    module.def("version", &selion::version, "Version of the library.");
}

}  // namespace bindings
