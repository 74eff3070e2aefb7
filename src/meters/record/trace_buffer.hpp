// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "meters/record/occurrence.hpp"

namespace selion::meters {

/// Takes parts of a trace: whole lines, of any number of ranks at a time.
class trace_sink {
public:
    virtual ~trace_sink() = default;
    /// @return false when it takes no more.
    virtual bool write(std::string_view lines) = 0;
};

/// The events of one rank that are not written yet. The rank adds; when the buffer is full, it
/// writes. When the process has to end early, any thread may write what is there.
///
/// The two may meet. Events below `count_` are complete, and only whoever holds `is_writing_` reads
/// them or sets the count back; writing for the end keeps it for good, so that nothing is written
/// twice and the rank, if it still runs, adds to nothing.
class trace_buffer {
public:
    struct limits {
        std::size_t events_at_once;         ///< in memory; at least 1
        std::uint64_t events = UINT64_MAX;  ///< in all; those beyond are counted and dropped
    };

    trace_buffer(std::uint32_t rank, const limits& most, trace_sink& sink);

    void add(const occurrence& what);
    /// Writes what is there.
    void write();
    /// Likewise, and that the rank has come to its end. Arrivals may follow.
    void write_end();
    /// Likewise, from any thread, just before the process ends.
    void write_last();

    std::uint64_t events() const { return added_; }
    std::uint64_t dropped() const { return dropped_; }
    /// Whether parts were lost because the sink takes no more.
    bool is_refused() const { return is_refused_; }

private:
    bool begin_writing();
    void end_writing();
    void pass_on(const std::string& text);
    std::string name_once();
    std::string text_of_events();

    std::uint32_t rank_;
    limits most_;
    trace_sink& sink_;
    std::unique_ptr<occurrence[]> events_;
    std::uint64_t count_ = 0;       ///< in `events_`; shared with whoever ends the process
    std::uint32_t is_writing_ = 0;  ///< likewise
    std::uint64_t added_ = 0;
    std::uint64_t dropped_ = 0;
    bool is_named_ = false;
    bool has_named_arrivals_ = false;
    bool has_named_handlers_ = false;
    bool is_refused_ = false;  ///< the sink takes no more
};

}  // namespace selion::meters
