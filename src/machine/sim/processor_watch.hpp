// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "machine/process/hang_setting.hpp"
#include "machine/process/signal_inbox.hpp"
#include "machine/sim/simulation.hpp"

namespace selion::machine::sim {

/// A thread of its own that says when one rank does not let the others run for long, in real time;
/// and what all do, on SIGUSR1 and before the process dies of Ctrl-C or SIGTERM. It only looks:
/// virtual times stay what they are. Where the system has no thread or file for it, nobody watches.
class processor_watch {
public:
    /// @param spec what the machine is called.
    processor_watch(const simulation& all, std::string spec, const hang_setting& setting);
    ~processor_watch();
    processor_watch(const processor_watch&) = delete;
    processor_watch& operator=(const processor_watch&) = delete;

private:
    void watch();
    void look(std::int64_t now_ns);
    bool has_others_to_run(std::uint32_t running) const;
    std::string time_text() const;

    const simulation& all_;
    std::string spec_;
    hang_setting setting_;
    std::optional<signal_inbox> inbox_;
    int stop_ = -1;
    std::uint64_t turns_ = 0;    ///< seen last …
    std::int64_t since_ns_ = 0;  ///< … first at that time
    bool was_reported_ = false;
    std::thread thread_;
};

}  // namespace selion::machine::sim
