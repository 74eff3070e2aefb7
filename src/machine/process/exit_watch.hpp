// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace selion::machine {

/// While it lives, a rank that calls exit ends the job with a sentence that names it and a non-zero
/// status: exit takes all ranks of the process with it, and must not look like success. The same
/// holds for other threads, also of the process that supervises the ranks. One at a time in a
/// process.
class exit_watch {
public:
    /// @param ending becomes 1 for whoever ends the job first; lives as long as this.
    explicit exit_watch(std::uint32_t& ending);
    ~exit_watch();
    exit_watch(const exit_watch&) = delete;
    exit_watch& operator=(const exit_watch&) = delete;
};

}  // namespace selion::machine
