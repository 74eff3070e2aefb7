// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace selion::machine {

/// Makes fatal signals of ranks name the rank. The handler notes signal and address in the rank's
/// call record, prints a sentence if nobody supervises the process, and lets the signal end it.
/// Signals that the program or a sanitizer handles itself are left alone.
void install_crash_handler(bool is_supervised);

/// A stack for the handler, for the calling thread's lifetime of this object: a rank that has
/// overflowed its stack has none to spare.
class signal_stack {
public:
    signal_stack();
    ~signal_stack();
    signal_stack(const signal_stack&) = delete;
    signal_stack& operator=(const signal_stack&) = delete;

private:
    std::unique_ptr<std::byte[]> memory_;
};

}  // namespace selion::machine
