// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/knobs.hpp"

namespace selion::base {

void say(std::string_view sentence, const room_for_saying* room) {
    std::string line = "selion: ";
    line += sentence;
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
        if (room != nullptr && !room->wait()) return;
        const int file = room != nullptr ? room->file : STDERR_FILENO;
        const std::size_t bytes = room != nullptr ? rest.substr(0, PIPE_BUF).size() : rest.size();
        const ssize_t written = ::write(file, rest.data(), bytes);
        if (written > 0) {
            rest.remove_prefix(static_cast<std::size_t>(written));
        } else if (written < 0 && errno == EAGAIN) {  // whoever shares it has made it so
            if (room != nullptr) continue;
            pollfd any{file, POLLOUT, 0};
            poll(&any, 1, -1);
        } else if (written == 0 || errno != EINTR) {
            return;
        }
    }
}

void say_verbose(std::string_view sentence) {
    if (knob_is_on(knob::verbose)) say(sentence);
}

}  // namespace selion::base
