// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "selion/meters.hpp"

namespace selion::meters {

/// One thing that happened: what, when, how long, how many bytes.
struct occurrence {
    const char* name;  ///< kept by address: a literal
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::uint64_t bytes = 0;
    const char* file = nullptr;
    std::uint32_t line = 0;
};

/// Counters, timers and trace events of one rank, filled by that rank alone. Knows no clock: times
/// come from outside, real or virtual.
class recorder {
public:
    /// @param keeps_events also keep each occurrence for a trace, up to `most_events`.
    explicit recorder(bool keeps_events) : keeps_events_(keeps_events) {}

    void count(const char* name, std::int64_t amount);
    void record(const occurrence& what);
    std::vector<meter_reading> readings() const;

    /// Events in the Chrome trace format, one JSON object a line, each followed by a comma.
    std::string trace_events(std::uint32_t rank) const;
    /// Readings as JSON lines.
    std::string reading_lines(std::uint32_t rank) const;
    std::uint64_t dropped_events() const { return dropped_; }

    static constexpr std::size_t most_events = 1'000'000;

private:
    struct slot {
        bool is_timer = false;
        std::int64_t count = 0;
        std::int64_t total = 0;
        std::uint64_t bytes = 0;
        const char* file = nullptr;
        std::uint32_t line = 0;
    };
    bool keeps_events_;
    std::map<std::string_view, slot> slots_;
    std::vector<occurrence> events_;
    std::uint64_t dropped_ = 0;
};

/// Opening and closing lines of a trace file whose middle all ranks append.
std::string trace_head(std::string_view machine, std::uint32_t ranks);
std::string trace_tail();

}  // namespace selion::meters
