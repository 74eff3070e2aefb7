// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "machine/machine.hpp"

namespace selion::detail {

/// The file that SELION_TIME names: each job that comes to its end adds a line there that tells how
/// long its ranks have run, by the job's own clock. Nothing of the time before that counts, in
/// which processes start and memory is mapped.
class job_time {
public:
    /// @param path of the file; empty: nobody asks
    job_time(const machine_description& description, std::string path);

    /// Before anything runs. @error bad_argument where the file cannot be written.
    void expect_file() const;
    /// Before the function of a rank is called.
    void begin(rank_context& context);
    /// When a rank has returned; where real time passes, when all have.
    void end(rank_context& context);
    /// After all ranks of a simulated machine.
    void end_simulation() const;

private:
    void write(std::int64_t ps) const;

    std::string path_;
    const machine_description& description_;
    std::int64_t begin_ps_ = 0;             ///< of rank 0
    std::atomic<std::int64_t> end_ps_ = 0;  ///< of the last one
};

}  // namespace selion::detail
