// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/processor_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "machine/host/host.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/last_words.hpp"
#include "machine/sim/observed_simulation.hpp"

namespace selion::machine::sim {

processor_watch::processor_watch(const simulation& all, std::string spec,
                                 const hang_setting& setting)
    : all_(all), spec_(std::move(spec)), setting_(setting) {
    stop_ = eventfd(0, EFD_CLOEXEC);
    if (stop_ < 0) return;
    // The program's own handlers must not run on that thread.
    sigset_t every;
    sigset_t before;
    sigfillset(&every);
    try {
        const std::initializer_list<int> interrupts{SIGINT, SIGTERM};
        inbox_.emplace({SIGUSR1}, interrupts);
        pthread_sigmask(SIG_SETMASK, &every, &before);
        thread_ = std::thread([this] { watch(); });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    } catch (const std::system_error&) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        inbox_.reset();
    } catch (const error&) {  // of the inbox
    }
}

processor_watch::~processor_watch() {
    if (thread_.joinable()) {
        eventfd_write(stop_, 1);
        thread_.join();
    }
    if (stop_ >= 0) close(stop_);
}

void processor_watch::watch() {
    std::array<pollfd, 2> files{pollfd{stop_, POLLIN, 0}, pollfd{inbox_->file(), POLLIN, 0}};
    watched_time time;
    inbox_->read_here();
    while (true) {
        poll(files.data(), files.size(), sample_period_ms(setting_.timeout_ns));
        if (files[0].revents != 0) return;
        while (const int number = inbox_->take()) {
            base::say(fmt::format("state of the job on {}{}{}", spec_, time_text(),
                                  explain_waits(observed_simulation(all_, false))));
            if (number != SIGUSR1) die_with_last_words(number);
        }
        look(time.at(host_time_ns()));
    }
}

std::string processor_watch::time_text() const {
    return fmt::format(" at {} ps of virtual time", all_.model().tick.to_ps(all_.seen_time()));
}

/// Whether somebody else has not returned: who computes alone keeps nobody waiting. A rank that is
/// done itself lends its stack to messages, which may go on for ever.
bool processor_watch::has_others_to_run(std::uint32_t running) const {
    if (look_at(all_.ranks()[running].record.has_finished) != 0) return true;
    for (const rank_state& rank : all_.ranks()) {
        if (rank.context.rank != running && look_at(rank.record.has_finished) == 0) return true;
    }
    return false;
}

void processor_watch::look(std::int64_t now_ns) {
    const engine::turn turn = all_.turn_now();
    if (turn.count != turns_ || since_ns_ == 0) {
        turns_ = turn.count;
        since_ns_ = now_ns;
        was_reported_ = false;
    }
    const bool is_long = setting_.timeout_ns != 0 && now_ns - since_ns_ >= setting_.timeout_ns;
    if (!is_long || was_reported_ || turn.rank >= all_.ranks().size()) return;
    if (!has_others_to_run(turn.rank)) return;
    was_reported_ = true;
    base::say(
        fmt::format("hang: the same rank of {} has had the processor for {:g} s of real time,"
                    "{}{}",
                    spec_, static_cast<double>(setting_.timeout_ns) / 1e9, time_text(),
                    explain_waits(observed_simulation(all_, false))));
    if (!setting_.ends_job) return;
    announce({{}, "SELION_HANG_ACTION=abort: the job ends", {}});
    say_last_words();
    flush_and_leave(1);
}

}  // namespace selion::machine::sim
