// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <selion/detail/rank_context.hpp>

namespace bindings {

/// Raises in a thread that works for no rank: the library would end the whole job.
inline void expect_rank() {
    if (selion::detail::current_context->ranks != 0) return;
    PyErr_SetString(PyExc_RuntimeError,
                    "This thread works for no rank: call selion from the function that selion.run "
                    "calls, or join it with 'with world.joined_thread():'.");
    throw nanobind::python_error();
}

}  // namespace bindings
