// SPDX-License-Identifier: Apache-2.0
#include "machine/node/job_monitor.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "machine/failure.hpp"
#include "machine/node/doorbell.hpp"

namespace selion::machine::node {
namespace {

constexpr std::int64_t longest_sample_ms = 250;

bool is_handled_by_program(int number) {
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    return (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL;
}

}  // namespace

signal_inbox::signal_inbox(std::initializer_list<int> signals) {
    static_assert(sizeof(sigset_t) <= sizeof old_mask_);
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : signals) {
        if (!is_handled_by_program(number)) sigaddset(&wanted, number);
    }
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &wanted, &before);
    std::memcpy(old_mask_, &before, sizeof before);
    file_ = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (file_ >= 0) return;
    const error trouble = cannot_open("the signals of the job");
    restore_mask();
    throw trouble;
}

signal_inbox::~signal_inbox() {
    restore_mask();
    close(file_);
}

int signal_inbox::take() {
    signalfd_siginfo info{};
    if (read(file_, &info, sizeof info) != ssize_t{sizeof info}) return 0;
    return static_cast<int>(info.ssi_signo);
}

void signal_inbox::restore_mask() const {
    sigset_t before;
    std::memcpy(&before, old_mask_, sizeof before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

job_monitor::job_monitor(const job_setting& setting, const shared_mapping& mapping)
    : setting_(setting), mapping_(mapping), watch_(mapping, setting.hang_timeout_ns) {}

int job_monitor::poll_timeout_ms() const {
    if (setting_.hang_timeout_ns == 0) return -1;
    const std::int64_t quarter_ms = setting_.hang_timeout_ns / 4'000'000;
    return static_cast<int>(std::clamp<std::int64_t>(quarter_ms, 1, longest_sample_ms));
}

bool job_monitor::sample() {
    if (!watch_.sample(steady_now_ns())) return false;
    base::say(fmt::format("hang: a rank of {} has waited for {:g} s{}", setting_.description.spec,
                          static_cast<double>(setting_.hang_timeout_ns) / 1e9,
                          explain_waits(mapping_, setting_.compares_calls)));
    if (setting_.aborts_on_hang) announce({{}, "SELION_HANG_ACTION=abort: the job ends", {}});
    return setting_.aborts_on_hang;
}

void job_monitor::explain() const {
    base::say(fmt::format("state of the job on {}{}", setting_.description.spec,
                          explain_waits(mapping_, setting_.compares_calls)));
}

}  // namespace selion::machine::node
