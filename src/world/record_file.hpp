// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "machine/process/last_words.hpp"
#include "meters/record/recorder.hpp"
#include "world/claimed_file.hpp"
#include "world/job_files.hpp"
#include "world/trace_file.hpp"

namespace selion::detail {

/// The files that SELION_TRACE and SELION_METERS name, and the recorders of the ranks of this
/// process. The first process of a job begins and ends the files. Every rank appends its readings
/// when its function has returned, and its events as they become many. A process that has to end
/// early writes the events that it still holds.
class record_files {
public:
    record_files(const machine_description& description, const job_files& named);

    bool has_trace() const { return trace_.has_value(); }

    /// @error bad_argument when a file cannot be written, or another job writes it now.
    void begin(const machine_description& description);
    /// A recorder for one rank, which lives as long as this object; null when nothing is recorded.
    meters::recorder* start_rank(std::uint32_t rank);
    void end_rank(std::uint32_t rank);
    /// After all ranks: what came to ranks that had ended, and what the links have carried.
    void end(const machine::machine& host);

private:
    void write_last();
    void append_meters(const std::string& lines);

    std::optional<trace_file> trace_;
    std::string meters_path_;
    claimed_file claimed_trace_;  // by the first process of a job
    claimed_file claimed_meters_;
    std::atomic<bool> has_told_loss_ = false;
    bool records_ = false;
    meters::trace_buffer::limits most_{};
    /// By rank; each set once, by its rank, and read by whoever ends the process.
    std::vector<std::unique_ptr<meters::recorder>> recorders_;
    std::vector<meters::recorder*> published_;
    std::optional<machine::last_words> last_words_;
};

}  // namespace selion::detail
