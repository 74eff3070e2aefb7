// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace selion::base {

/// For whoever must not wait for who reads standard error: returns when there is room, or false,
/// and what is left of a sentence is lost.
using room_for_saying = bool (*)();

/// Writes "selion: <sentence>\n" to standard error in one system call, so that lines of several
/// ranks do not mix. Where standard error is full it waits, also if that does not block.
/// @param wait called before each of several smaller parts, for which a pipe with any room has room
void say(std::string_view sentence, room_for_saying wait = nullptr);

/// As `say`, only when SELION_VERBOSE is set.
void say_verbose(std::string_view sentence);

}  // namespace selion::base
