// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>

namespace selion::machine::fabric {

/// Tells when processes of the own host have ended, and when another thread wants to be heard.
class process_watch {
public:
    process_watch();
    ~process_watch();
    process_watch(const process_watch&) = delete;
    process_watch& operator=(const process_watch&) = delete;

    /// @return false: that process has ended already.
    bool add(std::uint32_t rank, std::int32_t process);
    /// Readable when there is something to take.
    int file() const { return file_; }
    /// Makes it readable. Any thread.
    void ring() const;
    /// @param has_ended called for each rank whose process has, once.
    void take(const std::function<void(std::uint32_t rank)>& has_ended);

private:
    int file_;
    int bell_;
    std::map<std::uint32_t, int> processes_;  ///< files of the kernel that stand for them
};

}  // namespace selion::machine::fabric
