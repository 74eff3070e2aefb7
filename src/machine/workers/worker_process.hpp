// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace selion::machine::workers {

/// This process's environment as it is, without what makes it a worker. Not while another thread
/// changes it: a pool looks once, when it is made, and not when a worker is replaced.
std::vector<std::string> inherited_variables();

/// How workers are started.
struct worker_start {
    std::vector<std::string> command;  ///< program and arguments; empty: this program with its own
    std::vector<std::string> variables = inherited_variables();
};

/// A process that is started as a worker.
class worker_process {
public:
    /// @param memory_file of the pool.
    /// @error system_failure: it cannot be started.
    worker_process(std::uint32_t worker, const worker_start& start, int memory_file);
    worker_process(const worker_process&) = delete;
    worker_process& operator=(const worker_process&) = delete;
    /// Kills it if it has not ended.
    ~worker_process();

    /// How it has ended, in words: "was ended by signal 11 (Segmentation fault)"; nothing while it
    /// runs.
    std::optional<std::string> ending();
    /// Waits for its end. @return false: it still runs after that time.
    bool join(std::chrono::milliseconds patience);
    /// Halts it. @return false: it has ended.
    bool stop();
    void go_on() const;
    void kill_now() const;
    int id() const { return id_; }

private:
    /// Signals and questions reach this process and no other that has its number later.
    int await_change(siginfo_t& change, int which) const;
    /// @return false: it has ended.
    bool send(int signal) const;

    pid_t id_ = -1;
    int hold_ = -1;      ///< file that stands for the process; below 0: there is its number only
    int lifeline_ = -1;  ///< our end
    std::optional<std::string> ending_;
};

}  // namespace selion::machine::workers
