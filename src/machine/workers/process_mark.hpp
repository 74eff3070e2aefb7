// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace selion::machine::workers {

/// Tells a process from those that it has forked, for a load: its page is wiped in them.
class process_mark {
public:
    process_mark();
    process_mark(const process_mark&) = delete;
    process_mark& operator=(const process_mark&) = delete;
    ~process_mark();

    /// Whether this is the process that has made the mark.
    bool is_own() const;

private:
    pid_t maker_;
    volatile char* page_;  ///< null: the kernel wipes none
};

}  // namespace selion::machine::workers
