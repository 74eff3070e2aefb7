// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/workers/process_mark.hpp"
#include "machine/workers/worker_area.hpp"
#include "machine/workers/worker_services.hpp"
#include "selion/routine.hpp"

namespace selion::machine::workers {

/// Runs a routine. @param text of an exception: its type, a zero, what it says.
/// @param server of the process that serves. One that the routine has forked ends here: it is no
/// worker, and would reply to its calls.
call_outcome run_routine(const detail::routine_entry* which, detail::routine_call_frame& frame,
                         std::string& text, const process_mark& server) noexcept;

/// What a worker on the host's own computer needs.
struct worker_place {
    worker_area& area;
    pool_head& head;
    std::byte* memory;  ///< what places of spans are counted from
    std::uint32_t number = 0;
    bool is_process = false;
    int file = -1;  ///< that the processes of a pool have in common
};

/// Runs calls in their order until it is told to stop.
void serve_calls(const worker_place& place,
                 const std::vector<const detail::routine_entry*>& routines);

}  // namespace selion::machine::workers
