// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "setting.hpp"

/// What the source prints of EM3D: tables 4 and 5, figures 11 and 12.
namespace software_cache {

enum class field_table : std::uint8_t {
    remote,  ///< table 4
    local,   ///< table 5
};

/// @error study::bad_argument
measurement read_field_counts(const nlohmann::ordered_json& params, const setting& how,
                              field_table which);
measurement read_field_time(const nlohmann::ordered_json& params, const setting& how);

/// How writes reach others: `sequential`, `release` or `update`. @error study::bad_argument
void read_writes(const nlohmann::ordered_json& params, setting& how);

}  // namespace software_cache
