// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>

#include <selion/meter.hpp>
#include <selion/world.hpp>

#include "caller.hpp"
#include "module.hpp"

namespace bindings {

namespace {

/// A name that stays where it is for as long as the interpreter runs: recorders keep its address.
const char* kept(const nb::str& name) {
    PyObject* own = name.ptr();
    Py_INCREF(own);
    PyUnicode_InternInPlace(&own);  // equal names are one object, which is never given back
    const char* const text = PyUnicode_AsUTF8(own);
    if (text == nullptr) throw nb::python_error();
    return text;
}

selion::meter_kind kind_of(std::string_view kind) {
    if (kind == "software") return selion::meter_kind::software;
    if (kind == "hardware") return selion::meter_kind::hardware;
    const std::string sentence =
        "There is no kind of meter '" + std::string(kind) + "'; legal: software, hardware.";
    throw nb::value_error(sentence.c_str());
}

/// Raises also in threads that have joined: a meter counts what the rank's own thread does.
void expect_own_thread() {
    expect_rank();
    if (!selion::detail::current_context->is_foreign_thread) return;
    refuse_now("A meter belongs to the rank's own thread; this one has joined the rank.");
}

selion::meter make_meter(const nb::str& name, std::string_view event, std::string_view kind) {
    expect_own_thread();
    const selion::meter_kind which = kind_of(kind);
    const char* const own = kept(name);
    const yield_to_simulated_ranks free;
    return selion::meter(own, event, which);
}

/// Where the library would end the job.
void expect_own(const selion::meter& own) {
    expect_own_thread();
    if (own.is_own()) return;
    refuse_now("This meter belongs to another rank, or to a job that is over.");
}

/// Both look at a clock or at counts, for which other simulated ranks may have to come first.
void start(selion::meter& own) {
    expect_own(own);
    if (own.is_running()) throw nb::value_error("The meter runs already.");
    const yield_to_simulated_ranks free;
    own.start();
}

void stop(selion::meter& own) {
    expect_own(own);
    if (!own.is_running()) throw nb::value_error("The meter does not run.");
    const yield_to_simulated_ranks free;
    own.stop();
}

selion::meter_summary summarise(const selion::meter& own, const selion::team& members) {
    enter_call(members);
    const nb::gil_scoped_release free;
    return selion::summarise(members, own);
}

void add_results(nb::module_& module) {
    using selion::meter_event_info;
    using selion::meter_summary;
    documented<meter_summary>(module, "MeterSummary")
        .def_ro("mean", &meter_summary::mean)
        .def_ro("least", &meter_summary::least)
        .def_ro("most", &meter_summary::most)
        .def_ro("sum", &meter_summary::sum)
        .def_ro("by_member", &meter_summary::by_member);
    documented<meter_event_info>(module, "MeterEvent")
        .def_ro("name", &meter_event_info::name)
        .def_ro("unit", &meter_event_info::unit)
        .def_ro("parts", &meter_event_info::parts)
        .def_ro("is_available", &meter_event_info::is_available)
        .def_ro("reason", &meter_event_info::reason);
}

}  // namespace

void add_meters(nb::module_& module, documented<selion::world, selion::team>& world) {
    using selion::meter;
    add_results(module);
    documented<meter>(module, "Meter")
        .def("start", &start)
        .def("stop", &stop)
        .def("__enter__",
             [](nb::handle self) {
                 start(nb::cast<meter&>(self));
                 return nb::borrow(self);
             })
        .def("__exit__", [](meter& self, const nb::args&) { stop(self); })
        .def("reset",
             [](meter& self) {
                 if (self.is_running()) throw nb::value_error("The meter runs: stop it before.");
                 self.reset();
             })
        .def("summary", &summarise, nb::arg("team"))
        .def_prop_ro("value", &meter::value)
        .def_prop_ro("unit", &meter::unit)
        .def_prop_ro("event", &meter::event)
        .def_prop_ro("name", &meter::name)
        .def_prop_ro("runs", &meter::runs)
        .def_prop_ro("overhead", &meter::overhead)
        .def_prop_ro("is_running", &meter::is_running);
    world
        .def(
            "meter",
            [](const selion::world& all, const nb::str& name, std::string_view event,
               std::string_view kind) {
                expect_member(all);
                return make_meter(name, event, kind);
            },
            nb::arg("name"), nb::arg("event") = "clock", nb::arg("kind") = "software")
        .def("meter_events", [](const selion::world&) {
            expect_rank();
            const yield_to_simulated_ranks free;
            return selion::meter_events();
        });
}

}  // namespace bindings
