// SPDX-License-Identifier: Apache-2.0
#include "machine/process/launch_signs.hpp"

#include <cstdlib>

#include "base/units.hpp"

namespace selion::machine {

launch_signs read_launch_signs() {
    launch_signs signs;
    signs.has_server =
        std::getenv("PMIX_RANK") != nullptr && std::getenv("PMIX_NAMESPACE") != nullptr;
    // Of steps, not of allocations: the script of a batch job is one task.
    for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"}) {
        const char* const text = std::getenv(variable);
        if (text == nullptr) continue;
        const std::uint64_t tasks = base::parse_whole(text).value_or(0);
        if (tasks <= signs.tasks || tasks > UINT32_MAX) continue;
        signs.tasks = static_cast<std::uint32_t>(tasks);
        signs.tasks_by = variable;
    }
    return signs;
}

}  // namespace selion::machine
