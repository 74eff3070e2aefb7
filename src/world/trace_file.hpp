// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "meters/record/trace_buffer.hpp"

namespace selion::detail {

/// A trace on disk, to which many threads and processes append. After every part it ends with the
/// last lines of a complete trace, which the next part overwrites: so whatever becomes of the job,
/// what is there can be read. Writers take turns by a lock on the file. One that was killed in the
/// middle of a part leaves half a line; the next writer cuts it off.
///
/// What is no regular file (a pipe) gets the parts as they come, and the last lines at the end.
class trace_file final : public meters::trace_sink {
public:
    explicit trace_file(std::string path) : path_(std::move(path)) {}

    const std::string& path() const { return path_; }

    /// Makes the file, or empties it. @return false if it cannot be written; errno says why.
    bool begin(std::string_view head) const;
    /// Says so, once, when the file takes no more.
    bool write(std::string_view lines) override;
    /// Called once, after all parts.
    void end() const;

private:
    std::string path_;
    std::atomic<bool> has_complained_ = false;
};

}  // namespace selion::detail
