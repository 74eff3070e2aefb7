// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

#include "machine/fabric/port.hpp"
#include "machine/node/control_block.hpp"
#include "machine/node/patience.hpp"
#include "machine/waiter.hpp"

namespace selion::machine::fabric {

/// On which a thread sleeps: a doorbell, whose ringer writes to a file instead of calling the
/// kernel by its address, so that the thread can sleep on the network as well.
class file_bell {
public:
    file_bell() = default;
    ~file_bell();
    file_bell(const file_bell&) = delete;
    file_bell& operator=(const file_bell&) = delete;

    node::doorbell bell{};
    int file() const { return file_; }
    /// Before its thread sleeps for the first time.
    void open_file();

private:
    int file_ = -1;
};

/// What the threads of the process that may sleep have in common.
struct sleeping_place {
    node::control_block& control;
    std::deque<file_bell> bells;  ///< the rank's own, then of threads that join it
    node::patience how_long;
    port* mail = nullptr;
};

/// A thread that runs the rank, or that joined it.
class fabric_waiter final : public waiter {
public:
    fabric_waiter(sleeping_place& place, std::uint32_t bell)
        : place_(place), bell_(bell), yield_ns_(place.how_long.yield_ns) {}
    bool wait(const wait_request& request) override;
    void end_early() override { ends_early_ = true; }

private:
    template <class Look>
    void sleep(const wait_request& request, Look arrived);

    sleeping_place& place_;
    std::uint32_t bell_;
    std::int64_t yield_ns_;  ///< how long it yields before it sleeps
    bool ends_early_ = false;
};

/// Wakes whoever sleeps on a word of the process.
void wake_sleepers_of(sleeping_place& place, detail::shared_word& word);
/// The same where the word may be gone: whoever sleeps looks again.
void wake_all(sleeping_place& place);

}  // namespace selion::machine::fabric
