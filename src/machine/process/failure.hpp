// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/log.hpp"
#include "selion/error.hpp"
#include "selion/error_handler.hpp"

namespace selion::machine {

/// As `base::say`, also in a process that supervises others, which must not wait for who reads its
/// standard error for ever.
void tell(std::string_view sentence);
/// @param room what `tell` does about that, for as long as it is set; null: it waits
void set_room_for_telling(const base::room_for_saying* room) noexcept;

/// Says why the job ends, then lets the program's error handler know. For whoever has claimed to
/// end it, and not in the handler of a signal. Lets no exception out.
void announce(const failure& why) noexcept;

/// Whether the calling thread is in the program's error handler, and so has claimed already.
bool is_in_error_handler() noexcept;

/// Ends the process, but first writes out what its streams hold: for a second at most, since
/// another thread may hold a stream's lock for ever.
[[noreturn]] void flush_and_leave(int status) noexcept;

/// After a call of the system that makes a file descriptor for `what`, in vain.
error cannot_open(std::string_view what);

/// What a process ends with: the system keeps 8 bits, and what is not 0 stays so.
constexpr int exit_status_of(int status) {
    return (status & 0xff) != 0 ? status & 0xff : static_cast<int>(status != 0);
}

}  // namespace selion::machine
