// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/node/job_monitor.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/shared_mapping.hpp"
#include "machine/process/job_environment.hpp"
#include "machine/process/signal_inbox.hpp"
#include "machine/processes/job_output.hpp"
#include "machine/processes/leaving_watch.hpp"

namespace selion::machine {

/// The program's first process under `processes`: starts the others, passes signals and output on,
/// explains hangs, and ends the job when one of them dies. It is no rank.
class supervisor {
public:
    /// @param told to the processes, each of which has its number beside that.
    supervisor(const node::job_setting& setting, const node::shared_mapping& mapping,
               job_environment told);
    ~supervisor();
    supervisor(const supervisor&) = delete;
    supervisor& operator=(const supervisor&) = delete;

    /// Starts all processes and waits for them. @return exit status of the job.
    /// @error system_failure when processes cannot be started.
    int run();

private:
    void start_all();
    void start(std::uint32_t process);
    [[noreturn]] void become(std::uint32_t process, pid_t parent, const output_pipes& pipes);
    int idle_ms() const;
    void wait_for_event();
    void note_signals();
    void take_signals();
    void look_for_hangs();
    void kill_late_ones() const;
    void pass_rest();
    bool await_room_to_tell();
    void collect_ended();
    void judge(std::uint32_t process, int wait_status);
    void judge_unseen(std::uint32_t process);
    std::optional<int> noted_status(std::uint32_t process) const;
    std::uint32_t telling_rank_of(std::uint32_t process) const;
    void judge_output();
    bool has_waited_enough() const;
    void end_all();
    void announce_death(std::uint32_t process, int wait_status) const;

    const node::job_setting& setting_;
    const node::shared_mapping& mapping_;
    job_environment told_;
    signal_inbox inbox_;
    node::job_monitor monitor_;
    leaving_watch leaving_;
    std::vector<child_process> children_;           ///< those that were started
    std::optional<job_output> output_;              ///< nothing: they print where they like
    const output_target sentences_{STDERR_FILENO};  ///< standard error, for those of the job itself
    std::vector<int> noted_;              ///< signals that have come and are not handled yet
    std::int64_t unwanted_since_ns_ = 0;  ///< when somebody first wanted the end; 0: nobody
    std::uint32_t running_ = 0;
    bool has_lost_lines_ = false;
    int status_ = 0;
    int interrupted_by_ = 0;
    std::int64_t kill_at_ns_ =
        0;  ///< when those that ignored the request are killed; 0: no request
};

}  // namespace selion::machine
