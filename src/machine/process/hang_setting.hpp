// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace selion::machine {

/// What the environment says of hangs.
struct hang_setting {
    std::int64_t timeout_ns = 0;  ///< 0: nothing is a hang
    bool ends_job = false;
};
hang_setting take_hang_setting();

/// How long who watches may sleep between two looks; -1: for ever.
int sample_period_ms(std::int64_t timeout_ns);

/// Time as who watches has seen it: while its process was stopped (Ctrl-Z, a debugger, a virtual
/// machine that stood still) nobody could do anything, and none of that time counts but a second.
class watched_time {
public:
    /// @param now_ns of a steady clock. @return from 1 on.
    std::int64_t at(std::int64_t now_ns);

private:
    std::int64_t last_ns_ = 0;
    std::int64_t time_ns_ = 1;
};

}  // namespace selion::machine
