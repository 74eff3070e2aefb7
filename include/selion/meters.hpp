// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <selion/detail/export.hpp>

/// Named counters and timers of the calling rank. They are recorded when SELION_METERS or
/// SELION_TRACE is set; else each call costs one test.
namespace selion {

/// Adds to a counter of this rank.
/// @param name a string literal: its address is kept until the job ends.
SELION_API void count(const char* name, std::int64_t amount = 1);

/// Times a piece of code under a name: from construction to destruction, per rank, in nanoseconds
/// of the machine's clock. With SELION_TRACE each scope is also a slice of the trace.
class SELION_API timer_scope {
public:
    /// @param name a string literal: its address is kept until the job ends.
    explicit timer_scope(const char* name,
                         std::source_location site = std::source_location::current());
    ~timer_scope();
    timer_scope(const timer_scope&) = delete;
    timer_scope& operator=(const timer_scope&) = delete;

private:
    const char* name_;
    const char* file_;
    std::int64_t started_ps_;
    std::uint32_t line_;
    bool is_recorded_;
};

/// What one meter of one rank has gathered.
struct meter_reading {
    std::string name;        ///< the user's, or "put", "get", "barrier", "wait: signal", …
    std::string unit;        ///< "events", "ns", "ps", or that of what a program counts
    std::int64_t count = 0;  ///< events, or times the timer ran
    std::int64_t total = 0;  ///< sum of amounts; for timers nanoseconds
    std::int64_t bytes = 0;  ///< moved by operations of this name
    std::string site;        ///< file:line of the first use, where known
};

/// Readings of the calling rank so far; empty when nothing is recorded.
SELION_API std::vector<meter_reading> read_meters();
/// The same for each place in the program: `site` is where, `name` what was called there.
SELION_API std::vector<meter_reading> read_meters_by_line();

}  // namespace selion
