// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "selion/routine.hpp"

namespace selion::machine::workers {

/// A routine without its function: what another program knows of it.
struct routine_shape {
    std::string name;
    std::vector<detail::routine_parameter> parameters;
    detail::routine_parameter result;  ///< `element_bytes` 0: none
};

/// The routines of this program as they are now, by name; numbers of calls are places in it.
std::vector<const detail::routine_entry*> own_routines();

/// As bytes, for another process.
std::string encode_list(const std::vector<const detail::routine_entry*>& routines);
std::vector<routine_shape> decode_list(std::string_view bytes);
std::vector<routine_shape> shapes_of(const std::vector<const detail::routine_entry*>& routines);

}  // namespace selion::machine::workers
