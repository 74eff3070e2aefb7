// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/job_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/hang_setting.hpp"
#include "machine/wait_report.hpp"

namespace selion::machine::fabric {
namespace {

/// What a completion handler waits for on a thread of its own; empty: none waits.
std::string handler_text(const call_record* beside) {
    if (beside == nullptr || look_at(beside->is_waiting) == 0) return {};
    return fmt::format("; a completion handler of it waits {}", wait_text(*beside));
}

/// Why a wait in a collective may be one for ever; empty: for other reasons than that.
std::string doubt_text(const call_record& record, bool compares_calls) {
    const auto what = static_cast<operation>(look_at(record.what));
    const bool is_compared = begins_collective(what) && what != operation::end_of_run;
    if (compares_calls || !(is_compared || is_composed(what))) return {};
    return fmt::format("; perhaps the ranks {}", disagreement_hint);
}

}  // namespace

job_watch::job_watch(std::vector<watched_rank> ranks, const node::job_setting& setting,
                     peer_watch* others, process_deaths* deaths, std::function<void()> end_job)
    : ranks_(std::move(ranks)),
      setting_(setting),
      others_(others),
      deaths_(deaths),
      end_job_(std::move(end_job)),
      inbox_({SIGUSR1}),
      stop_(eventfd(0, EFD_CLOEXEC)) {
    if (stop_ < 0) throw cannot_open("the watch over the ranks");
    // The program's own handlers must not run on this thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { watch(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

job_watch::~job_watch() {
    eventfd_write(stop_, 1);
    thread_.join();
    close(stop_);
}

std::string job_watch::explanation_of(const watched_rank& rank) {
    const bool is_inside = look_at(rank.record.entries) % 2 == 1;
    const bool is_waiting = is_inside && look_at(rank.record.is_waiting) != 0;
    const std::string what =
        is_waiting ? "waits " + wait_text(rank.record) : "is " + last_call_text(rank.record);
    return fmt::format("{} {}{}{}", rank.name, what, handler_text(rank.beside), rank.more());
}

void job_watch::look_at_wait(const watched_rank& rank, wait_seen& seen, std::int64_t now_ns) const {
    const std::int64_t timeout_ns = setting_.hang_timeout_ns;
    const std::uint64_t entries = look_at(rank.record.entries);
    const bool is_waiting = entries % 2 == 1 && look_at(rank.record.is_waiting) != 0;
    if (std::exchange(seen.entries, entries) != entries || !is_waiting) {
        seen.since_ns = now_ns;
        seen.was_reported = false;
    }
    if (timeout_ns == 0 || seen.was_reported || now_ns - seen.since_ns < timeout_ns) return;
    seen.was_reported = true;
    base::say(fmt::format("hang: {} s are over: {}{}", static_cast<double>(timeout_ns) / 1e9,
                          explanation_of(rank), doubt_text(rank.record, setting_.compares_calls)));
    if (setting_.aborts_on_hang) end_job_();
}

void job_watch::watch() {
    const int pulses = others_ == nullptr ? -1 : others_->file();
    const int deaths = deaths_ == nullptr ? -1 : deaths_->file();
    std::array<pollfd, 4> files{pollfd{stop_, POLLIN, 0}, pollfd{inbox_.file(), POLLIN, 0},
                                pollfd{pulses, POLLIN, 0}, pollfd{deaths, POLLIN, 0}};
    watched_time time;
    inbox_.read_here();
    std::vector<wait_seen> seen(ranks_.size(), {.since_ns = time.at(node::steady_now_ns())});
    while (true) {
        int most_ms = sample_period_ms(setting_.hang_timeout_ns);
        if (others_ != nullptr) {
            const int due_ms = others_->due_ms(node::steady_now_ns());
            most_ms = most_ms < 0 ? due_ms : std::min(most_ms, due_ms);
        }
        poll(files.data(), files.size(), most_ms);
        if (files[0].revents != 0) return;
        while (inbox_.take() == SIGUSR1) {
            for (const watched_rank& rank : ranks_) base::say(explanation_of(rank));
        }
        if (deaths_ != nullptr) deaths_->look();
        if (others_ != nullptr) others_->look(node::steady_now_ns());
        const std::int64_t now_ns = time.at(node::steady_now_ns());
        for (std::size_t i = 0; i < ranks_.size(); ++i) look_at_wait(ranks_[i], seen[i], now_ns);
    }
}

}  // namespace selion::machine::fabric
