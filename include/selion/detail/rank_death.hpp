// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <selion/detail/export.hpp>

namespace selion::detail {

// Of ranks that have died while the job goes on, as far as the caller's process knows. Acknowledges
// nothing.

SELION_API bool is_dead(std::uint32_t rank);
SELION_API std::uint32_t count_of_deaths();

}  // namespace selion::detail
