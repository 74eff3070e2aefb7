// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace selion::machine {

/// What whoever launched the process says by the environment, before anybody is asked.
struct launch_signs {
    bool has_server = false;  ///< a PMIx server is there
    std::string tasks_by;     ///< the variable that tells of tasks; empty: none does
    std::uint32_t tasks = 0;  ///< how many there are
};
launch_signs read_launch_signs();

}  // namespace selion::machine
