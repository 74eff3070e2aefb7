// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.hpp"

namespace selion::machine {

/// How one rank, or one thread that joined a rank, blocks: a thread that spins and sleeps, or a
/// fiber that lets the others of its carrier run.
class waiter {
public:
    virtual ~waiter() = default;
    /// @return whether the word arrived before the deadline.
    virtual bool wait(const wait_request& request) = 0;
    /// By a handler that runs on the waiter's own thread: its wait, if it is in one, ends although
    /// the word has not arrived.
    virtual void end_early() = 0;
};

}  // namespace selion::machine
