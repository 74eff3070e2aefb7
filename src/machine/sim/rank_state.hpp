// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/call_record.hpp"
#include "machine/sim/engine.hpp"
#include "machine/sim/transfer.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine::sim {

/// What a rank does as far as messages to it are concerned.
enum class activity : std::uint8_t {
    computes,  ///< its own code; only interrupts reach it
    waits,     ///< in a call, or done: it serves what comes
};

/// Why a rank stands still, for reports.
enum class standstill : std::uint8_t { none, word, answer, quiet };

struct rank_state;

/// The end of a wait that may not last.
struct deadline_event : event {
    rank_state* rank = nullptr;
};

/// One rank of a simulation.
struct rank_state {
    task* self = nullptr;
    activity doing = activity::computes;
    standstill why = standstill::none;
    bool polled_just_now = false;  ///< nothing has happened since it read the clock or a signal
    bool has_timed_out = false;
    std::uint32_t puts_under_way = 0;
    ticks processor_until = 0;  ///< busy with messages until then
    ticks hardware_until = 0;   ///< likewise its network hardware
    message* inbox = nullptr;   ///< messages that wait for its next call, the oldest first
    message* inbox_end = nullptr;
    const detail::shared_word* awaited = nullptr;
    std::uint64_t at_least = 0;
    deadline_event deadline;
    call_record record{};
    detail::rank_context context;
};

}  // namespace selion::machine::sim
