// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/fabric/process_watch.hpp"

/// Processes of the job that die while it goes on, as one of them knows it: "Deaths that are
/// reported" in protocol.md. Knows neither libfabric nor PMIx.
namespace selion::machine::fabric {

class process_deaths {
public:
    struct surroundings {
        std::uint32_t own_process;
        std::uint32_t processes;
        /// Of the ranks of a process, for sentences. Not asked by threads of PMIx.
        std::function<std::string(std::uint32_t process)> name_of;
        /// Tells the own ranks. Any thread.
        std::function<void(std::uint32_t process)> on_death;
        /// The own ranks have told the others that they want nothing more of them.
        std::function<bool()> are_leaving;
        /// The own process is taken for dead, and has said so. Does not return.
        std::function<void()> end_self;
    };
    explicit process_deaths(surroundings around);

    /// One is dead. Any thread. @param why as a part of a sentence
    void note(std::uint32_t process, std::string_view why);
    bool is_dead(std::uint32_t process) const {
        return is_dead_[process].load(std::memory_order_relaxed);
    }
    /// In the order in which it became known.
    std::vector<std::uint32_t> all() const;

    /// To be told by the kernel when it ends. @param number of the host's
    void watch(std::uint32_t process, std::int32_t number);
    /// Readable when `look` has something to do; that is one thread's.
    int file() const { return processes_.file(); }
    void look();

private:
    struct unspoken {
        std::uint32_t process;
        std::string why;
    };
    void add(std::uint32_t process, std::string_view why);
    bool speaks() const;

    surroundings around_;
    process_watch processes_;
    std::vector<std::atomic<bool>> is_dead_;
    mutable std::mutex mutex_;
    std::vector<std::uint32_t> in_order_;
    std::deque<unspoken> unspoken_;  ///< of which nothing has been said
};

}  // namespace selion::machine::fabric
