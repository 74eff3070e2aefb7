// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "meters/record/link_use.hpp"
#include "meters/record/occurrence.hpp"

/// Traces as text: Chrome's array format, which Perfetto reads. One event a line, each followed by
/// a comma, so that parts of many writers can be put together and what is there of a broken file
/// can be read.
///
/// Process 1 holds the ranks. Rank r is thread 2r + 1, and what arrives there by itself is thread
/// 2r + 2, because it overlaps with what the rank does. Another process holds the links. Numbers
/// begin with 1: viewers take thread 0 for the idle one.
///
/// Viewers go through events by time, those of equal time as they are written, and bind the end of
/// an arrow to the slice that began last on its track. So an end stands right after its slice and
/// has the slice's start as time; only what ends a wait has the time when the wait is over, because
/// an arrow must not begin after its end.
namespace selion::meters {

/// The word for it in records: "timer", "operation", …
std::string_view category_of(slice_kind kind);

/// A JSON string.
std::string quoted(std::string_view text);

/// What a file says about the job that has written it.
struct job_description {
    std::string_view machine{};  ///< spec
    std::string_view version{};
    std::uint32_t ranks = 0;
    bool is_virtual = false;  ///< time is the machine's, not the host's
    /// Picoseconds that recording one event takes of its rank's time; unused in virtual time.
    std::int64_t event_cost_ps = 0;
};

/// First and last lines of a trace; what ranks append comes between.
std::string trace_head(const job_description& what);
std::string_view trace_tail();
/// First line of a file of meters.
std::string meters_head(const job_description& what);

/// Names and places of a rank's tracks.
std::string track_name(std::uint32_t rank);
std::string arrivals_track_name(std::uint32_t rank);
std::string handlers_track_name(std::uint32_t rank);

/// Says that a rank has recorded all that it did.
std::string end_of_rank(std::uint32_t rank, std::uint64_t events, std::uint64_t dropped);

/// Lines of events of one rank.
std::string event_lines(std::uint32_t rank, std::span<const occurrence> events);

/// Links in a trace.
std::string link_events(const network_use& what);
/// Links as JSON lines, for meters.
std::string link_lines(const network_use& what);

}  // namespace selion::meters
