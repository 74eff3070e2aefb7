// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include <exception>

#include <selion/error.hpp>

namespace {

/// Each status of the library as the Python exception that callers expect.
PyObject* exception_for(selion::status code) {
    switch (code) {
        case selion::status::bad_argument: return PyExc_ValueError;
        case selion::status::not_available: return PyExc_NotImplementedError;
        case selion::status::out_of_memory: return PyExc_MemoryError;
        case selion::status::timed_out: return PyExc_TimeoutError;
        case selion::status::rank_dead: return PyExc_ConnectionError;
        case selion::status::system_failure: return PyExc_OSError;
        case selion::status::remote_exception: return PyExc_RuntimeError;
    }
    return PyExc_RuntimeError;
}

}  // namespace

NB_MODULE(_core, module) {
    module.attr("__doc__") = "The compiled part of selion.";
    // What the library keeps outlives the interpreter by intent.
    nanobind::set_leak_warnings(false);
    nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const selion::error& trouble) {
            PyErr_SetString(exception_for(trouble.code()), trouble.what());
        }
    });
    bindings::add_machines(module);
    bindings::add_build_facts(module);
    bindings::add_accesses(module);
    bindings::add_schedules(module);
    bindings::documented<selion::team> team = bindings::add_team(module);
    bindings::add_collectives(module, team);
    bindings::add_varying(module, team);
    bindings::add_started(module, team);
    bindings::documented<selion::world, selion::team> world = bindings::add_world(module);
    bindings::add_meters(module, world);
    bindings::add_arrays(module);
    bindings::add_transfers(module, world);
    bindings::add_signals(module);
    bindings::add_layouts(module);
    bindings::add_calls(module, world);
    bindings::add_run(module);
    bindings::add_workers(module);
}
