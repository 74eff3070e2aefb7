// SPDX-License-Identifier: Apache-2.0
/// What collectives of blocks ask of other collectives.
#include "selion/block_collectives.hpp"

#include <cstddef>
#include <span>

#include "selion/team.hpp"

namespace selion {

std::size_t block_collectives::longest(std::size_t own, std::source_location site) const {
    detail::all_reduce(view_, &own, 1, detail::erase_reduction<std::size_t>(maximum), site);
    return own;
}

}  // namespace selion
