// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace selion::machine {

/// What the process still does may take for ever: another thread, or the caller itself, may hold a
/// lock that it needs. After some seconds it ends in any case, whatever the program has made of
/// SIGALRM: with this status, or by this signal. May be called in the handler of a signal.
void leave_within(unsigned seconds, int status) noexcept;
/// @param text what is then said, without an allocation. It must stay.
void die_within(unsigned seconds, int signal, const char* text) noexcept;

/// Ends the process by a signal, also in a handler of it.
void die_of(int signal) noexcept;

}  // namespace selion::machine
