// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

/// Parts of the module `selion._core`; each adds its names.
namespace bindings {

namespace nb = nanobind;

void add_machines(nb::module_& module);
void add_run(nb::module_& module);
void add_world(nb::module_& module);
void add_arrays(nb::module_& module);

}  // namespace bindings
