// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "setting.hpp"

/// What the source prints of matrix multiplication: tables 1 to 3, figures 8 to 10.
namespace software_cache {

/// Tables 1 and 2 and their like. @error study::bad_argument
measurement read_naive_counts(const nlohmann::ordered_json& params, std::uint64_t seed,
                              bool is_table_1);
measurement read_version_counts(const nlohmann::ordered_json& params, std::uint64_t seed);
measurement read_start_skew(const nlohmann::ordered_json& params, std::uint64_t seed);
/// Rates.
measurement read_rate(const nlohmann::ordered_json& params, std::uint64_t seed);

}  // namespace software_cache
