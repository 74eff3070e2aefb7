// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meters/record/occurrence.hpp"
#include "meters/record/trace_buffer.hpp"
#include "selion/meters.hpp"

namespace selion::meters {

/// Counters, timers and trace events of one rank, filled by that rank alone. Knows no clock: times
/// come from outside, real or virtual, in picoseconds since the job began.
class recorder {
public:
    /// @param trace where events go; null: counters and timers only.
    explicit recorder(std::unique_ptr<trace_buffer> trace = nullptr) : trace_(std::move(trace)) {}

    bool has_trace() const { return trace_ != nullptr; }
    /// @pre has_trace()
    trace_buffer& trace() { return *trace_; }

    /// What is counted, beside its name.
    struct counted_as {
        const char* unit = "events";  ///< a literal
        const char* file = nullptr;
        std::uint32_t line = 0;
    };
    /// @param at_ps used only where there is a trace.
    void count(const char* name, std::int64_t by, std::int64_t at_ps, const counted_as& how);
    void count(const char* name, std::int64_t by, std::int64_t at_ps) {
        count(name, by, at_ps, counted_as());
    }
    /// Adds to the meter of its name, and to the trace.
    void record(const occurrence& what) { record(what, what.end_ps - what.start_ps); }
    /// The same where the meter has measured the time itself. The trace has its begin and end.
    void record(const occurrence& what, std::int64_t duration_ps);
    /// Adds to the trace alone.
    void draw(const occurrence& what) {
        if (trace_ == nullptr) return;
        if (!is_handlers_) return trace_->add(what);
        occurrence beside = what;
        beside.is_handlers = true;
        trace_->add(beside);
    }

    /// Between these two, arrows that begin belong to the operation's slice.
    void begin_operation() {
        is_in_operation_ = true;
        leaving_ = 0;
    }
    flow_id end_operation() {
        is_in_operation_ = false;
        return leaving_;
    }
    /// An arrow begins. @return whether an operation in progress takes it.
    bool begin_flow(flow_id which) {
        if (is_in_operation_) leaving_ = which;
        return is_in_operation_;
    }

    /// What the rank is in, while something else happens beside it.
    struct left_state {
        flow_id leaving = 0;
        bool is_in_operation = false;
        bool is_handlers = false;
    };
    /// Between these two, what is recorded happens beside what the rank does, and belongs to none
    /// of its operations: a handler that runs on a clock of its own.
    left_state begin_beside() {
        return {std::exchange(leaving_, 0), std::exchange(is_in_operation_, false),
                std::exchange(is_handlers_, true)};
    }
    void end_beside(const left_state& before) {
        leaving_ = before.leaving;
        is_in_operation_ = before.is_in_operation;
        is_handlers_ = before.is_handlers;
    }

    /// Symmetric memory has been given back: see `flow_of_signal`.
    void begin_era() { ++era_; }
    std::uint64_t era() const { return era_; }

    /// What has been recorded of a kind, or under one name.
    struct amount {
        std::int64_t count = 0;
        std::int64_t bytes = 0;
        std::int64_t duration_ps = 0;
    };
    amount amount_of(slice_kind kind) const { return amounts_[static_cast<std::size_t>(kind)]; }
    amount amount_of(slice_kind kind, std::string_view name) const;

    std::vector<meter_reading> readings() const;
    /// What was recorded with a place in the program, a reading for each name and place.
    std::vector<meter_reading> readings_by_line() const;
    /// Readings as JSON lines.
    std::string reading_lines(std::uint32_t rank) const;

private:
    struct slot {
        bool is_timer = false;
        std::int64_t count = 0;
        std::int64_t total = 0;  ///< of a timer: picoseconds
        std::uint64_t bytes = 0;
        const char* file = nullptr;
        std::uint32_t line = 0;
    };
    static void add(slot& into, const occurrence& what, std::int64_t duration_ps);
    static void note_first_place(slot& into, const char* file, std::uint32_t line);
    static meter_reading reading_of(std::string_view name, std::string_view unit, const slot& from);

    /// Where in the program something was called, under which name.
    struct place {
        std::string_view name;
        std::string_view file;
        std::uint32_t line;
        auto operator<=>(const place&) const = default;
    };
    /// What is called the same is one reading only where it is of the same kind and unit.
    struct slot_key {
        std::string_view name;
        slice_kind kind;
        std::string_view unit;
        auto operator<=>(const slot_key&) const = default;
    };
    static constexpr std::string_view time_unit = "ns";
    std::map<slot_key, slot> slots_;
    std::array<amount, slice_kinds> amounts_{};
    std::map<place, slot> places_;
    std::unique_ptr<trace_buffer> trace_;
    flow_id leaving_ = 0;
    std::uint64_t era_ = 0;
    bool is_in_operation_ = false;
    bool is_handlers_ = false;
};

}  // namespace selion::meters
