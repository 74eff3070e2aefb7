// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace selion::detail {

/// A file that one job writes, as long as this lives: a second job that is told to write it as well
/// learns of that, and of the death of the first one too. Where files cannot be locked nobody
/// learns of anybody.
class claimed_file {
public:
    claimed_file() = default;
    ~claimed_file() { give_back(); }
    claimed_file(const claimed_file&) = delete;
    claimed_file& operator=(const claimed_file&) = delete;

    /// Creates it if it is not there. @return false: another process has claimed it.
    bool claim(const std::string& path);
    void give_back();

private:
    int file_ = -1;
};

}  // namespace selion::detail
