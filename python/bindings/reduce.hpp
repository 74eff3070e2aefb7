// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string_view>

#include <selion/future.hpp>
#include <selion/team.hpp>

namespace bindings {

/// Combines ints, floats, or arrays of numbers: into a new object, or into `out`, an array. Here
/// and below an operation is its name, or a function: those combine any objects (selion.combining).
/// @error ValueError for an unknown operation or an `out` that does not fit, TypeError for values
/// that cannot be combined.
nanobind::object all_reduce(nanobind::handle self, nanobind::handle value,
                            nanobind::handle operation, nanobind::handle out);
/// The same; elsewhere than at the root None. @error ValueError where there is no such member.
nanobind::object reduce(nanobind::handle self, nanobind::handle value, nanobind::handle operation,
                        std::int64_t root, nanobind::handle out);
nanobind::object scan(nanobind::handle self, nanobind::handle value, nanobind::handle operation,
                      nanobind::handle out);
/// @param first what member 0 returns.
nanobind::object exscan(nanobind::handle self, nanobind::handle value, nanobind::handle operation,
                        nanobind::handle first, nanobind::handle out);

/// Combines arrays of numbers whose first extent is a multiple of the number of members, or lists
/// of one number for each: every member gets its part of the result.
nanobind::object reduce_scatter(nanobind::handle self, nanobind::handle values,
                                nanobind::handle operation, nanobind::handle out);

/// all_reduce, reduce, scan or exscan of an array of numbers, in place, started.
/// @param array has to stay until the future is fulfilled. Its elements are numbers of NumPy's.
/// @param is_single it is the memory of a `mixed_number` instead.
selion::future<> start_to_combine(const selion::team& all, std::string_view what,
                                  nanobind::handle array, std::string_view operation,
                                  std::uint32_t root, bool is_single);

}  // namespace bindings
