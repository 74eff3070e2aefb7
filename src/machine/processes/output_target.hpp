// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace selion::machine {

/// Where lines of processes go, as fast as somebody takes them away. Nobody waits for that here: a
/// program that reads nothing would keep the job from ending.
class output_target {
public:
    /// @param file not owned.
    explicit output_target(int file);
    ~output_target();
    output_target(const output_target&) = delete;
    output_target& operator=(const output_target&) = delete;

    /// Adds a line to what waits.
    void add(std::string_view prefix, std::string_view line);
    /// Writes of it what is taken now.
    void write_some();
    /// So much waits that nobody should add more.
    bool is_full() const { return waiting_.size() - written_ >= most_waiting; }
    bool has_waiting() const { return written_ != waiting_.size(); }
    /// What `write_some` writes to: to be polled for room.
    int file() const { return own_ >= 0 ? own_ : file_; }
    /// Why lines are lost, as `errno` says it; 0 as long as none is.
    int trouble() const { return trouble_; }

private:
    static constexpr std::size_t most_waiting = std::size_t{1} << 16;
    std::ptrdiff_t write_now(std::string_view text) const;

    int file_;
    int own_ = -1;  ///< the same, opened so that writing never waits
    bool is_socket_ = false;
    bool may_wait_ = false;  ///< writing to the file itself may wait for a reader
    std::string waiting_;
    std::size_t written_ = 0;  ///< of that
    int trouble_ = 0;
};

}  // namespace selion::machine
