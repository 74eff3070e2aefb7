// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace em3d {

/// The text as a string of JSON. It is taken for UTF-8.
std::string json_string(const std::string& text);

}  // namespace em3d
