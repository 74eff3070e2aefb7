// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/child_output.hpp"

#include <fcntl.h>
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
      rest_(std::move(other.rest_)) {}

child_output::~child_output() {
    while (pass_some()) {
    }
    if (!rest_.empty()) write_line(rest_ + '\n');
    if (source_ >= 0) close(source_);
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
    rest_.append(block.data(), static_cast<std::size_t>(bytes));
    std::size_t start = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', start)) != std::string::npos;) {
        write_line(std::string_view(rest_).substr(start, end + 1 - start));
        start = end + 1;
    }
    rest_.erase(0, start);
    if (bytes != 0) return true;
    close(std::exchange(source_, -1));
    if (!rest_.empty()) write_line(std::exchange(rest_, {}) + '\n');
    return false;
}

void child_output::write_line(std::string_view line) {
    std::string whole = prefix_;
    whole += line;
    std::string_view rest = whole;
    while (!rest.empty()) {
        const ssize_t written = write(target_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace selion::machine
