// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace selion::base {

/// For whoever must not wait for who reads standard error.
struct room_for_saying {
    /// Returns when there is room, or false, and what is left of a sentence is lost.
    bool (*wait)();
    int file;  ///< standard error, opened so that writing never waits, where that can be
};

/// Writes "selion: <sentence>\n" to standard error in one system call, so that lines of several
/// ranks do not mix. Where standard error is full it waits, also if that does not block.
/// @param room asked for before each of several smaller parts, for which a pipe with any room has
/// room; null: there is no hurry
void say(std::string_view sentence, const room_for_saying* room = nullptr);

/// As `say`, only when SELION_VERBOSE is set.
void say_verbose(std::string_view sentence);

}  // namespace selion::base
