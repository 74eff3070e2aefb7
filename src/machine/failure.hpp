// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "selion/error_handler.hpp"

namespace selion::machine {

/// Says why the job ends, then lets the program's error handler know. For whoever has claimed to
/// end it, and not in the handler of a signal. Lets no exception out.
void announce(const failure& why) noexcept;

/// Whether the calling thread is in the program's error handler, and so has claimed already.
bool is_in_error_handler() noexcept;

/// What a process ends with: the system keeps 8 bits, and what is not 0 stays so.
constexpr int exit_status_of(int status) {
    return (status & 0xff) != 0 ? status & 0xff : static_cast<int>(status != 0);
}

}  // namespace selion::machine
