// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/knobs.hpp"

namespace selion::base {

void say(std::string_view sentence) {
    std::string line = "selion: ";
    line += sentence;
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

void say_verbose(std::string_view sentence) {
    if (knob_is_on(knob::verbose)) say(sentence);
}

}  // namespace selion::base
