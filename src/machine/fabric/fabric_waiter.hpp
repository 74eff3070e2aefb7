// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>

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

/// Whether a thread of the rank waits, and so serves (progress=interrupt).
class attention {
public:
    explicit attention(int bell_file) : bell_file_(bell_file) {}
    bool is_attended() const { return count_.load(std::memory_order_relaxed) != 0; }
    void attend() { count_.fetch_add(1, std::memory_order_relaxed); }
    /// Hands to the thread that serves meanwhile what the last one may leave behind.
    void leave(port& mail);

private:
    int bell_file_;
    std::atomic<std::uint32_t> count_ = 0;
};

/// What the threads of the process that may sleep have in common.
struct sleeping_place {
    sleeping_place(node::control_block& of, const node::patience& patience)
        : control(of), how_long(patience) {}

    node::control_block& control;
    std::deque<file_bell> bells;  ///< the rank's own, then of threads that join it
    node::patience how_long;
    port* mail = nullptr;
    std::optional<class attention> attention;  ///< only with progress=interrupt
};

/// A thread that runs the rank, or that joined it.
class fabric_waiter final : public waiter {
public:
    fabric_waiter(sleeping_place& place, std::uint32_t bell)
        : place_(place), bell_(bell), yield_ns_(place.how_long.yield_ns) {}
    bool wait(const wait_request& request) override;
    void end_early() override { ends_early_ = true; }

private:
    bool wait_serving(const wait_request& request);
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
