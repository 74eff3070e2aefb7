// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "selion/error.hpp"

namespace selion::machine {

/// An event that the processor or the kernel counts for a thread.
struct processor_event {
    std::string_view name;
    const char* unit;
    std::uint32_t type;  ///< as the kernel numbers them: perf_event_open(2)
    std::uint64_t config;
};

/// All that can be asked for: cycles, instructions, cache_misses, page_faults, context_switches.
std::span<const processor_event> processor_events();

/// Counts one event for the calling thread, switches apart in user mode, from its creation on.
class processor_counter {
public:
    virtual ~processor_counter() = default;
    /// @pre called by the thread that created it.
    virtual std::int64_t read() = 0;
};

/// @error not_available, with the kernel's reason.
result<std::unique_ptr<processor_counter>> make_processor_counter(const processor_event& what);

}  // namespace selion::machine
