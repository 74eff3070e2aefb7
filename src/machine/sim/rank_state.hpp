// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "machine/call_record.hpp"
#include "machine/sim/arrival_order.hpp"
#include "machine/sim/credit_book.hpp"
#include "machine/sim/engine/engine.hpp"
#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/transfer.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine::sim {

/// What a rank does as far as messages to it are concerned.
enum class activity : std::uint8_t {
    computes,  ///< its own code; only interrupts reach it
    waits,     ///< in a call, or done: it serves what comes
};

/// Why a rank stands still, for reports.
enum class standstill : std::uint8_t { none, word, answer, quiet, credit };

struct rank_state;

/// Something that concerns one rank: the end of a wait that may not last, an interrupt.
struct rank_event : event {
    rank_state* rank = nullptr;
};

/// One rank of a simulation, in lines of its own (`context` aligns it). What most messages need is
/// in the first one.
struct rank_state {
    task* self = nullptr;
    const detail::shared_word* awaited = nullptr;
    std::uint64_t at_least = 0;
    ticks hardware_until = 0;     ///< its network hardware is busy with messages until then
    rate slowness{1 << 20};       ///< what a tick of its processor's work takes
    message* inbox = nullptr;     ///< messages that wait for its next call, the oldest first
    ticks acknowledged_at = 0;    ///< the last of those puts whose ends were known before they came
    std::uint32_t under_way = 0;  ///< operations that no call waits for but `quiet`
    std::uint32_t leaving : 24 = 0;  ///< messages that will leave when its own time has come
    activity doing : 2 = activity::computes;
    standstill why : 4 = standstill::none;
    bool polled_just_now : 1 = false;  ///< no work since it read the clock or a signal took time

    bool has_timed_out = false;
    bool is_in_call = false;     ///< holds the big lock, where there is one
    bool is_disturbed = false;   ///< an interrupt has wanted the lock during its call
    bool dispatches = false;     ///< its call is in the dispatcher and finds what comes
    bool is_interrupts = false;  ///< the dispatcher was entered last by an interrupt, not by a call
    std::uint16_t rests = 0;     ///< how often it has stood still at `rested_at`
    std::int64_t left_ns = 0;    ///< the host's time when it began or last left a call, if counted
    std::uint64_t committed_bytes = 0;  ///< of its memory, promised to allocations
    ticks processor_until = -1;         ///< busy with messages until then
    ticks rested_at = -1;               ///< when it went on last, after it had stood still
    message* inbox_end = nullptr;
    ticks disturbance = 0;      ///< time that its call has yet to lose by that
    ticks handling_until = -1;  ///< a handler runs until then
    message* ahead = nullptr;   ///< what it has sent that leaves when its own time has come …
    message* ahead_end = nullptr;
    message* deferred = nullptr;  ///< messages that wait for that, the first one first
    message* deferred_end = nullptr;
    rank_event deadline;
    rank_event alarm;                      ///< when messages are served that no call has looked at
    std::unique_ptr<credit_book> credits;  ///< where they are limited, once it has sent something
    std::uint32_t creditor = 0;            ///< whose credit it waits for
    std::uint32_t unspent = 0;             ///< of what it has charged, in 2^-20 ticks
    meters::sent_messages sent;            ///< so far
    arrival_order order;                   ///< of what it has sent, where wires do not keep it
    std::span<const awaited_word> others;  ///< that the wait would also end with
    bool has_returned = false;             ///< from its function
    bool has_left_stack = false;           ///< and has made the calls that followed
    /// Functions, and what is passed to them, that it calls after that.
    std::vector<std::pair<void (*)(detail::rank_context&, void*), void*>> late_calls;
    call_record record{};
    detail::rank_context context;

    bool awaits(const detail::shared_word& word) const {
        if (awaited == &word) return true;
        return std::ranges::any_of(others,
                                   [&](const awaited_word& other) { return other.word == &word; });
    }
    /// Value of a word that it awaits: the least, if it awaits several values of it.
    std::uint64_t goal_of(const detail::shared_word& word) const {
        std::uint64_t goal = awaited == &word ? at_least : UINT64_MAX;
        for (const awaited_word& other : others) {
            if (other.word == &word) goal = std::min(goal, other.at_least);
        }
        return goal;
    }
};

}  // namespace selion::machine::sim
