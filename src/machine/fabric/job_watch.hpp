// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "machine/call_record.hpp"
#include "machine/fabric/peer_watch.hpp"
#include "machine/fabric/process_deaths.hpp"
#include "machine/node/job_monitor.hpp"
#include "machine/process/signal_inbox.hpp"

namespace selion::machine::fabric {

/// A rank of the process.
struct watched_rank {
    std::string name;  ///< "rank 2 of 4 on host a"
    const call_record& record;
    const call_record* beside;          ///< of the thread beside it; null: it can have none
    std::function<std::string()> more;  ///< what else is to be told, or nothing
};

/// Watches the ranks of this process from a thread of its own: says when one waits for too long,
/// and on SIGUSR1. Nobody sees the other hosts' ranks, so each process speaks for itself.
class job_watch {
public:
    /// @param others asked whether they live by the same thread; may be null.
    /// @param deaths looked at by the same thread; null: a death ends the job.
    /// @param end_job called for a hang that shall end the job.
    job_watch(std::vector<watched_rank> ranks, const node::job_setting& setting, peer_watch* others,
              process_deaths* deaths, std::function<void()> end_job);
    ~job_watch();
    job_watch(const job_watch&) = delete;
    job_watch& operator=(const job_watch&) = delete;

private:
    /// What is known of a rank's wait.
    struct wait_seen {
        std::uint64_t entries = 0;
        std::int64_t since_ns = 0;
        bool was_reported = false;
    };

    void watch();
    void look_at_wait(const watched_rank& rank, wait_seen& seen, std::int64_t now_ns) const;
    static std::string explanation_of(const watched_rank& rank);

    std::vector<watched_rank> ranks_;
    const node::job_setting& setting_;
    peer_watch* others_;
    process_deaths* deaths_;
    std::function<void()> end_job_;
    signal_inbox inbox_;
    int stop_;
    std::thread thread_;
};

}  // namespace selion::machine::fabric
