// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace selion::base {

/// Writes "selion: <sentence>\n" to standard error in one system call, so that lines of several
/// ranks do not mix.
void say(std::string_view sentence);

/// As `say`, only when SELION_VERBOSE is set.
void say_verbose(std::string_view sentence);

}  // namespace selion::base
