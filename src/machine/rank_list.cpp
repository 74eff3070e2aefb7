// SPDX-License-Identifier: Apache-2.0
#include "machine/rank_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>

namespace selion::machine {

std::string rank_list(const std::vector<std::uint32_t>& ranks) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        parts.push_back(last == i ? fmt::format("{}", ranks[i])
                                  : fmt::format("{}-{}", ranks[i], ranks[last]));
        i = last + 1;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", rank_list(ranks));
}

}  // namespace selion::machine
