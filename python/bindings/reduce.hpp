// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string_view>

#include <selion/future.hpp>
#include <selion/team.hpp>

namespace bindings {

/// all_reduce of an int, a float, or an array of numbers; the result is a new object,
/// or `out`, an array.
/// @error ValueError for an unknown operation, TypeError for values that cannot be combined.
nanobind::object all_reduce(const selion::team& all, nanobind::handle value,
                            std::string_view operation, nanobind::handle out);

/// @error ValueError where a team has no such member.
void expect_root(const selion::team& all, std::int64_t root);

/// broadcast of None, a bool, int, float, bytes, or of an array, which is filled in place.
/// @error TypeError for anything else at the root.
nanobind::object broadcast(const selion::team& all, nanobind::handle value, std::int64_t root);

/// all_reduce, reduce, scan or exscan of an array of numbers, in place.
/// @error as all_reduce.
void combine(const selion::team& all, std::string_view what, nanobind::handle array,
             std::string_view operation, std::uint32_t root);

/// The same, started. @param array has to stay until the future is fulfilled.
selion::future<> start_to_combine(const selion::team& all, std::string_view what,
                                  nanobind::handle array, std::string_view operation,
                                  std::uint32_t root);

}  // namespace bindings
