// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "machine/call_record.hpp"
#include "machine/fabric/peer_watch.hpp"
#include "machine/node/job_monitor.hpp"

namespace selion::machine::fabric {

/// Watches the rank of this process from a thread of its own: says when it waits for too long, and
/// on SIGUSR1. Nobody sees the other hosts' ranks, so each process speaks for itself.
class job_watch {
public:
    /// @param who "rank 2 of 4 on host a". @param more what else is to be told, or nothing.
    /// @param others asked whether they live by the same thread; may be null.
    /// @param end_job called for a hang that shall end the job.
    job_watch(std::string who, const call_record& record, const node::job_setting& setting,
              std::function<std::string()> more, peer_watch* others, std::function<void()> end_job);
    ~job_watch();
    job_watch(const job_watch&) = delete;
    job_watch& operator=(const job_watch&) = delete;

private:
    /// What is known of the own rank's wait.
    struct wait_seen {
        std::uint64_t entries = 0;
        std::int64_t since_ns = 0;
        bool was_reported = false;
    };

    void watch();
    void look_at_wait(wait_seen& seen, std::int64_t now_ns) const;
    std::string explanation() const;

    std::string who_;
    const call_record& record_;
    const node::job_setting& setting_;
    std::function<std::string()> more_;
    peer_watch* others_;
    std::function<void()> end_job_;
    node::signal_inbox inbox_;
    int stop_;
    std::thread thread_;
};

}  // namespace selion::machine::fabric
