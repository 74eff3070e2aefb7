// SPDX-License-Identifier: Apache-2.0
#include "world/locked_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "machine/process/file_size_limit.hpp"

namespace selion::detail {
namespace {

/// Opening a pipe for reading as well would not wait for its reader, and who appends reads nothing.
int open_for_parts(const char* path, int flags) {
    struct stat facts {};
    const bool is_special = stat(path, &facts) == 0 && !S_ISREG(facts.st_mode);
    const bool is_read = !is_special && (flags & O_APPEND) == 0;
    return open(path, (is_read ? O_RDWR : O_WRONLY) | O_CLOEXEC | flags, 0666);
}

bool lock(int file) {
    while (flock(file, LOCK_EX) != 0) {
        if (errno != EINTR) return false;
    }
    return true;
}

}  // namespace

locked_file::locked_file(const std::string& path, int flags)
    : file_(open_for_parts(path.c_str(), flags)) {
    if (file_ < 0) return;
    is_locked_ = lock(file_);
    struct stat facts {};
    is_regular_ = fstat(file_, &facts) == 0 && S_ISREG(facts.st_mode);
    bytes_ = is_regular_ ? facts.st_size : 0;
}

locked_file::~locked_file() {
    if (file_ < 0) return;
    // Closed, it would still be locked in a child that another thread has forked meanwhile.
    if (is_locked_) flock(file_, LOCK_UN);
    close(file_);
}

std::string locked_file::read_at(off_t start, std::size_t bytes) const {
    std::string text(bytes, '\0');
    const ssize_t found = pread(file_, text.data(), bytes, start);
    text.resize(found < 0 ? 0 : static_cast<std::size_t>(found));
    return text;
}

bool locked_file::cut(off_t bytes) const { return ftruncate(file_, bytes) == 0; }

bool locked_file::write_at(off_t start, std::string_view text) const {
    const machine::file_size_limit_is_error limit;
    while (!text.empty()) {
        const ssize_t bytes = is_regular_ ? pwrite(file_, text.data(), text.size(), start)
                                          : ::write(file_, text.data(), text.size());
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(bytes));
        start += bytes;
    }
    return true;
}

bool locked_file::append(std::string_view text) const {
    if (write_at(bytes_, text)) return true;
    const int trouble = errno;
    if (is_regular_ && is_locked_) cut(bytes_);  // else it may be somebody else's that would go
    errno = trouble;
    return false;
}

}  // namespace selion::detail
