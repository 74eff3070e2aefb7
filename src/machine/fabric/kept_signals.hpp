// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>

namespace selion::machine::fabric {

/// While it lives libraries may be loaded that think of the program's signals as theirs: what was
/// to be done about each is so again in the end. Plugins of libfabric bring such (that of Intel's
/// InfiniPath has fatal signals and Ctrl-C call `exit`).
class kept_signals {
public:
    kept_signals() {
        for (int number = 1; number < NSIG; ++number)
            is_known_[number] = sigaction(number, nullptr, &before_[number]) == 0;
    }
    ~kept_signals() {
        for (int number = 1; number < NSIG; ++number)
            if (is_known_[number]) sigaction(number, &before_[number], nullptr);
    }
    kept_signals(const kept_signals&) = delete;
    kept_signals& operator=(const kept_signals&) = delete;

private:
    std::array<struct sigaction, NSIG> before_{};
    std::array<bool, NSIG> is_known_{};
};

}  // namespace selion::machine::fabric
