// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace selion::detail {

/// An open file, locked against other writers where that is possible, until it is closed.
class locked_file {
public:
    /// @param flags of open; it is also read, unless they hold O_APPEND.
    locked_file(const std::string& path, int flags);
    ~locked_file();
    locked_file(const locked_file&) = delete;
    locked_file& operator=(const locked_file&) = delete;

    bool is_open() const { return file_ >= 0; }
    bool is_regular() const { return is_regular_; }
    /// When it was opened; of what is no regular file 0.
    off_t bytes() const { return bytes_; }

    std::string read_at(off_t start, std::size_t bytes) const;
    bool cut(off_t bytes) const;
    /// @param start ignored unless the file is a regular one, and has no O_APPEND.
    bool write_at(off_t start, std::string_view text) const;
    /// Writes all at the end, or nothing. @return false with errno if that cannot be.
    bool append(std::string_view text) const;

private:
    int file_;
    bool is_regular_ = false;
    bool is_locked_ = false;
    off_t bytes_ = 0;
};

}  // namespace selion::detail
