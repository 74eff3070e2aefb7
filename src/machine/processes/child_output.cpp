// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/child_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace selion::machine {

child_output::child_output(int source, int target, std::string prefix)
    : source_(source), target_(target), prefix_(std::move(prefix)) {
    fcntl(source_, F_SETFL, O_NONBLOCK);
}

child_output::child_output(child_output&& other) noexcept
    : source_(std::exchange(other.source_, -1)),
      target_(other.target_),
      prefix_(std::move(other.prefix_)),
      rest_(std::move(other.rest_)),
      trouble_(other.trouble_) {}

child_output::~child_output() {
    pass_all();
    if (source_ >= 0) close(source_);
}

void child_output::pass_all() {
    while (pass_some()) {
    }
    if (!rest_.empty()) write_line(std::exchange(rest_, {}) + '\n');
}

/// Others have their turn after so much.
void child_output::pass_on() {
    constexpr int most_blocks = 16;
    for (int i = 0; i < most_blocks && pass_some(); ++i) continue;
}

/// @return whether there may be more.
bool child_output::pass_some() {
    if (source_ < 0) return false;
    std::array<char, 65536> block;
    const ssize_t bytes = read(source_, block.data(), block.size());
    if (bytes < 0) return errno == EINTR;
    std::size_t start = 0;
    std::size_t unseen = rest_.size();
    rest_.append(block.data(), static_cast<std::size_t>(bytes));
    for (std::size_t end = 0; (end = rest_.find('\n', unseen)) != std::string::npos;) {
        write_line(std::string_view(rest_).substr(start, end + 1 - start));
        start = unseen = end + 1;
    }
    rest_.erase(0, start);
    if (source_ < 0) return false;  // nobody reads any more
    if (bytes != 0) return true;
    close(std::exchange(source_, -1));
    if (!rest_.empty()) write_line(std::exchange(rest_, {}) + '\n');
    return false;
}

void child_output::write_line(std::string_view line) {
    if (trouble_ != 0) return;
    std::string whole = prefix_;
    whole += line;
    std::string_view rest = whole;
    while (!rest.empty()) {
        const ssize_t written = write(target_, rest.data(), rest.size());
        if (written > 0) {
            rest.remove_prefix(static_cast<std::size_t>(written));
        } else if (written < 0 && errno == EAGAIN) {  // whoever shares it has made it so
            pollfd room{target_, POLLOUT, 0};
            poll(&room, 1, -1);
        } else if (written == 0 || errno != EINTR) {
            return give_up(written == 0 ? EIO : errno);
        }
    }
}

/// What the process prints from now on is read and dropped, or refused where nobody wants it.
void child_output::give_up(int reason) {
    trouble_ = reason;
    if (reason == EPIPE && source_ >= 0) close(std::exchange(source_, -1));
}

}  // namespace selion::machine
