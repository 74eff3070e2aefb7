// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <thread>

#include "machine/host/control_group.hpp"
#include "machine/node/binding.hpp"
#include "selion/machines.hpp"

namespace selion {

std::uint32_t usable_cores() {
    const std::size_t cores = machine::node::processors_by_core().size();
    const double known = cores != 0 ? static_cast<double>(cores)
                                    : static_cast<double>(std::thread::hardware_concurrency());
    const double granted = machine::control_groups().processors().value_or(known);
    return std::max(1u, static_cast<std::uint32_t>(std::ceil(std::min(known, granted))));
}

}  // namespace selion
