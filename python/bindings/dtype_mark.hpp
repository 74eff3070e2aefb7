// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include <selion/team.hpp>

namespace bindings {

/// A number for an array's dtype, the same on all ranks; 0: none that could be compared.
std::uint32_t mark_of(nanobind::handle array);

/// A team whose blocks of bytes are elements of an array, for the ranks to compare.
class typed_team : public selion::team {
public:
    /// @param array null and None: of any.
    typed_team(const selion::team& all, nanobind::handle array) : team(all) {
        if (array.is_valid() && !array.is_none()) move_elements_of(mark_of(array));
    }
    /// The same for a call that waits: its blocks are compared where calls are.
    static typed_team for_call(const selion::team& all, nanobind::handle array) {
        const bool is_compared = selion::detail::current_context->compares_calls;
        return {all, is_compared ? array : nanobind::handle()};
    }
};

}  // namespace bindings
