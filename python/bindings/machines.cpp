// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <selion/machines.hpp>

#include "module.hpp"

namespace bindings {

void add_machines(nb::module_& module) {
    using selion::knob_info;
    using selion::machine_kind_info;
    using selion::simulated_machine_info;

    nb::class_<machine_kind_info>(module, "MachineKind",
                                  "A kind of machine that SELION_MACHINE can name.")
        .def_ro("name", &machine_kind_info::name, "Its name, the first word of a spec.")
        .def_ro("forms", &machine_kind_info::forms, "Legal specs.")
        .def_ro("summary", &machine_kind_info::summary, "One sentence.")
        .def_ro("facts", &machine_kind_info::facts, "Pairs of capability and value, in words.")
        .def_ro("available", &machine_kind_info::available, "Whether it runs here.")
        .def_ro("reason", &machine_kind_info::reason, "Why it does not; else empty.");

    nb::class_<selion::fabric_offer>(module, "FabricOffer",
                                     "A network that the machine fabric could use on this host.")
        .def_ro("provider", &selion::fabric_offer::provider, "Of libfabric.")
        .def_ro("interface", &selion::fabric_offer::interface, "Its name: 'eth0'.")
        .def_ro("network", &selion::fabric_offer::network, "As the provider names it.")
        .def_ro("is_chosen", &selion::fabric_offer::is_chosen,
                "For jobs on several hosts, under the variables that are set.")
        .def_ro("why_not", &selion::fabric_offer::why_not,
                "Why it never would be; empty where it could.")
        .def_ro("has_stream", &selion::fabric_offer::has_stream,
                "Whether two ranks have one between them.")
        .def_ro("has_moves", &selion::fabric_offer::has_moves,
                "Whether it reads and writes memory of others by itself.")
        .def_ro("has_atomics", &selion::fabric_offer::has_atomics,
                "Whether it changes words of others by itself.")
        .def_ro("is_moving", &selion::fabric_offer::is_moving,
                "Whether long transfers of Selion would be moves.")
        .def_ro("has_wait_file", &selion::fabric_offer::has_wait_file,
                "Whether it wakes ranks that sleep; else they look every millisecond.");

    nb::class_<simulated_machine_info>(module, "SimulatedMachine",
                                       "A simulated machine that comes with the library.")
        .def_ro("name", &simulated_machine_info::name, "Its name, behind 'sim:' in a spec.")
        .def_ro("summary", &simulated_machine_info::summary, "One line.")
        .def_ro("ranks", &simulated_machine_info::ranks, "How many there are without options.")
        .def_ro("options", &simulated_machine_info::options, "Short keys that a spec can set.");

    nb::class_<knob_info>(module, "Knob", "A SELION_ variable of the environment.")
        .def_ro("name", &knob_info::name, "Its name.")
        .def_ro("default_value", &knob_info::default_value, "What holds when it is not set.")
        .def_ro("help", &knob_info::help, "One line with unit and range.")
        .def_ro("current", &knob_info::current, "Its value now; empty when not set.");

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
    module.def("usable_cores", &selion::usable_cores,
               "Processors that this process may use: affinity and cgroup quota respected.");
#if defined(__clang__)
    module.attr("compiler") = "clang " __clang_version__;
#else
    module.attr("compiler") = "g++ " __VERSION__;
#endif
    module.def("version", &selion::version, "Version of the library.");
}

}  // namespace bindings
