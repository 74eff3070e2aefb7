// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace selion::base {

/// The candidate with the smallest edit distance to `name`, or an empty view when none is closer
/// than half the length of `name`.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace selion::base
