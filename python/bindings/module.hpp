// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <selion/world.hpp>

#include "documented.hpp"

/// Parts of the module `selion._core`; each adds its names.
namespace bindings {

namespace nb = nanobind;

void add_machines(nb::module_& module);
/// What the library was built with.
void add_build_facts(nb::module_& module);
void add_accesses(nb::module_& module);
void add_schedules(nb::module_& module);
void add_run(nb::module_& module);
/// Pools of workers that are processes, and what such a process does.
void add_workers(nb::module_& module);
/// Makes Team, without what other parts add to it, and Subteam.
documented<selion::team> add_team(nb::module_& module);
/// Teams of those who live, for World.
nb::object make_survivors(const selion::world& all);
/// Makes World, without what other parts add to it.
documented<selion::world, selion::team> add_world(nb::module_& module);
/// Meter, and the methods of World that make one.
void add_meters(nb::module_& module, documented<selion::world, selion::team>& world);
void add_arrays(nb::module_& module);
/// Puts and gets in two phases, and what orders and completes them.
void add_transfers(nb::module_& module, documented<selion::world, selion::team>& world);
void add_signals(nb::module_& module);
/// Layouts of spread arrays.
void add_layouts(nb::module_& module);
/// Calls of functions on other ranks.
void add_calls(nb::module_& module, documented<selion::world, selion::team>& world);
/// Methods of Team for blocks, and what they are made of.
void add_collectives(nb::module_& module, documented<selion::team>& team);
/// The same of blocks that differ in size.
void add_varying(nb::module_& module, documented<selion::team>& team);
/// Collectives in two phases.
void add_started(nb::module_& module, documented<selion::team>& team);

}  // namespace bindings
