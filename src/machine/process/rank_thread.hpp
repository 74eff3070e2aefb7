// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <functional>
#include <optional>

namespace selion::machine {

/// A thread that runs a rank's function on its own stack, which is as large as `ulimit -s` says.
/// Where that says unlimited it has as much as most systems give a program's first thread: the C
/// library would take less. Joined as it is destroyed.
class rank_thread {
public:
    rank_thread() = default;
    /// Throws `std::system_error` when the system has no thread for it.
    explicit rank_thread(std::function<void()> body);
    ~rank_thread() { join(); }
    rank_thread(rank_thread&& other) noexcept;
    rank_thread& operator=(rank_thread&& other) noexcept;

    void join();

private:
    std::optional<pthread_t> id_;  ///< nothing: it is joined, or there never was one
};

}  // namespace selion::machine
