// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/child_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace selion::machine {

child_output::child_output(int source, output_target& target, std::string prefix)
    : source_(source), target_(&target), prefix_(std::move(prefix)) {
    fcntl(source_, F_SETFL, O_NONBLOCK);
}

child_output::child_output(child_output&& other) noexcept
    : source_(std::exchange(other.source_, -1)),
      target_(other.target_),
      prefix_(std::move(other.prefix_)),
      rest_(std::move(other.rest_)) {}

child_output::~child_output() { close_source(); }

void child_output::close_source() {
    if (source_ >= 0) close(std::exchange(source_, -1));
}

void child_output::end_line() {
    if (rest_.empty()) return;
    rest_ += '\n';
    target_->add(prefix_, rest_);
    rest_.clear();
}

/// Others have their turn after so much, and signals.
constexpr int most_blocks = 16;

bool child_output::pass_all() {
    for (int i = 0; source_ >= 0; ++i) {
        if (target_->is_full() || i == most_blocks) return false;
        if (pass_some() != reading::some) break;
    }
    end_line();
    return true;
}

void child_output::pass_on() {
    for (int i = 0; i < most_blocks && source_ >= 0 && !target_->is_full(); ++i) {
        if (pass_some() != reading::some) return;
    }
}

child_output::reading child_output::pass_some() {
    // Who reads no more has had enough: then the process hears of it itself. Where lines are lost
    // for another reason it may go on.
    if (target_->trouble() == EPIPE) close_source();
    if (source_ < 0) return reading::ended;
    std::array<char, 65536> block;
    const ssize_t bytes = read(source_, block.data(), block.size());
    if (bytes < 0) return errno == EINTR ? reading::some : reading::nothing;
    std::size_t start = 0;
    std::size_t unseen = rest_.size();
    rest_.append(block.data(), static_cast<std::size_t>(bytes));
    for (std::size_t end = 0; (end = rest_.find('\n', unseen)) != std::string::npos;) {
        target_->add(prefix_, std::string_view(rest_).substr(start, end + 1 - start));
        start = unseen = end + 1;
    }
    rest_.erase(0, start);
    if (rest_.size() >= longest_line) end_line();
    target_->write_some();
    if (bytes != 0) return reading::some;
    close_source();
    end_line();
    return reading::ended;
}

}  // namespace selion::machine
