// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include <selion/team.hpp>

namespace bindings {

/// @error ValueError where a team has no such member.
void expect_root(const selion::team& all, std::int64_t root);

/// broadcast of None, a bool, int, float, bytes, or of an array, which is filled in place.
/// @error TypeError for anything else at the root.
nanobind::object broadcast(const selion::team& all, nanobind::handle value, std::int64_t root);

}  // namespace bindings
