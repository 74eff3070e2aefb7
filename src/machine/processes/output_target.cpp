// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/output_target.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace selion::machine {

output_target::output_target(int file) : file_(file) {
    struct stat about {};
    if (fstat(file, &about) != 0) return;
    is_socket_ = S_ISSOCK(about.st_mode);
    may_wait_ = S_ISFIFO(about.st_mode) || isatty(file) == 1;
    if (!may_wait_) return;
    // Not made so that it never waits: others have the same open file.
    const std::string name = fmt::format("/proc/self/fd/{}", file);
    own_ = open(name.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

output_target::~output_target() {
    if (own_ >= 0) close(own_);
}

void output_target::add(std::string_view prefix, std::string_view line) {
    if (trouble_ != 0) return;
    waiting_ += prefix;
    waiting_ += line;
}

std::ptrdiff_t output_target::write_now(std::string_view text) const {
    if (is_socket_) return send(file_, text.data(), text.size(), MSG_DONTWAIT);
    if (own_ < 0 && may_wait_) {
        pollfd room{file_, POLLOUT, 0};
        if (poll(&room, 1, 0) == 0) {
            errno = EAGAIN;
            return -1;
        }
        text = text.substr(0, PIPE_BUF);  // which a pipe takes that has any room
    }
    return write(file(), text.data(), text.size());
}

void output_target::write_some() {
    while (has_waiting()) {
        // It may never be empty.
        if (written_ >= most_waiting && written_ >= waiting_.size() / 2) {
            waiting_.erase(0, std::exchange(written_, 0));
        }
        const std::ptrdiff_t bytes = write_now(std::string_view(waiting_).substr(written_));
        if (bytes > 0) {
            written_ += static_cast<std::size_t>(bytes);
        } else if (bytes < 0 && errno == EAGAIN) {
            return;
        } else if (bytes == 0 || errno != EINTR) {
            trouble_ = bytes == 0 ? EIO : errno;
            break;
        }
    }
    waiting_.clear();
    written_ = 0;
}

}  // namespace selion::machine
