// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/knobs.hpp"

namespace selion::base {

void say(std::string_view sentence, room_for_saying wait) {
    std::string line = "selion: ";
    line += sentence;
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
        if (wait != nullptr && !wait()) return;
        const std::size_t bytes = wait != nullptr ? rest.substr(0, PIPE_BUF).size() : rest.size();
        const ssize_t written = ::write(STDERR_FILENO, rest.data(), bytes);
        if (written > 0) {
            rest.remove_prefix(static_cast<std::size_t>(written));
        } else if (written < 0 && errno == EAGAIN) {  // whoever shares it has made it so
            pollfd room{STDERR_FILENO, POLLOUT, 0};
            poll(&room, 1, -1);
        } else if (written == 0 || errno != EINTR) {
            return;
        }
    }
}

void say_verbose(std::string_view sentence) {
    if (knob_is_on(knob::verbose)) say(sentence);
}

}  // namespace selion::base
