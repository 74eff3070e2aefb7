// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace selion::machine {

/// "0-3, 7" for {0, 1, 2, 3, 7}.
std::string rank_list(const std::vector<std::uint32_t>& ranks);

/// "rank 5", "ranks 0-3, 7".
std::string ranks_text(const std::vector<std::uint32_t>& ranks);

}  // namespace selion::machine
