// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace selion::base {

/// The candidate with the smallest edit distance to `name`, or an empty view when none is closer
/// than half the length of `name`, and within `most_edits`.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates,
                              std::size_t most_edits = SIZE_MAX);

/// For sentences about a name that is not there: " (did you mean threads?)", or nothing where no
/// candidate is near. @param quote around the candidate.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates,
                         std::string_view quote = "");
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace selion::base
