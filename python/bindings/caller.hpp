// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include <selion/detail/rank_context.hpp>
#include <selion/team.hpp>

namespace bindings {

/// Raises in a thread that works for no rank: the library would end the whole job.
inline void expect_rank() {
    if (selion::detail::current_context->ranks != 0) return;
    PyErr_SetString(PyExc_RuntimeError,
                    "This thread works for no rank: call selion from the function that selion.run "
                    "calls, or join it with 'with world.joined_thread():'.");
    throw nanobind::python_error();
}

/// Raises also where a team has been freed.
inline void expect_caller(const selion::team& team) {
    expect_rank();
    if (team.is_member()) return;
    PyErr_SetString(PyExc_RuntimeError, "This team has been freed.");
    throw nanobind::python_error();
}

/// Gives the GIL away around what takes no time, except in a simulation: there other ranks, which
/// are threads of this interpreter, may have to come first.
class yield_to_simulated_ranks {
public:
    yield_to_simulated_ranks() {
        if (selion::detail::current_context->spends_time) free_.emplace();
    }

private:
    std::optional<nanobind::gil_scoped_release> free_;
};

}  // namespace bindings
