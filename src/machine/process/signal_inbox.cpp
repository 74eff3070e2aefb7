// SPDX-License-Identifier: Apache-2.0
#include "machine/process/signal_inbox.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "machine/host/host.hpp"
#include "machine/process/bounded_end.hpp"
#include "machine/process/failure.hpp"

namespace selion::machine {
namespace {

bool is_handled_by_program(int number) {
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    return (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL;
}

/// Threads that are older than the job do not block its signals: one of them may be given SIGUSR1,
/// which people send for a report, and would have the process ended. It hands the signal on, as all
/// but the reader do with interrupts.
struct handing_on {
    std::atomic<pid_t> process = 0;
    std::atomic<pid_t> thread = 0;  ///< who reads; 0: nobody yet; -n: nor when signal n came
};
handing_on reader;

void hand_on(int number) {
    const int before = errno;
    if (reader.process.load(std::memory_order_relaxed) != getpid()) {
        die_of(number);  // a copy of the process, or the inbox is gone
    } else {
        pid_t thread = reader.thread.load(std::memory_order_relaxed);
        while (thread <= 0 &&
               !reader.thread.compare_exchange_weak(thread, -number, std::memory_order_relaxed)) {
        }
        if (thread > 0) tgkill(getpid(), thread, number);
    }
    errno = before;
}

bool hand_on_from_others(int number) {
    struct sigaction wanted {};
    wanted.sa_handler = hand_on;
    wanted.sa_flags = SA_RESTART;
    return sigaction(number, &wanted, nullptr) == 0;
}

/// Unless the program has taken it meanwhile.
void let_go(int number) {
    if (is_handled_by(number, hand_on)) ::signal(number, SIG_DFL);
}

/// The program has taken the signal, or ignores it, since the inbox is there; the caller's thread
/// is as good for it as any.
void give_back(int number) {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, number);
    pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
    raise(number);
    pthread_sigmask(SIG_BLOCK, &own, nullptr);
}

}  // namespace

signal_inbox::signal_inbox(std::initializer_list<int> signals,
                           std::initializer_list<int> interrupts) {
    static_assert(sizeof(sigset_t) <= sizeof old_mask_);
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : signals) {
        if (!is_handled_by_program(number)) sigaddset(&wanted, number);
    }
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &wanted, &before);
    std::memcpy(old_mask_, &before, sizeof before);
    if (sigismember(&wanted, SIGUSR1) == 1) handed_on_.push_back(SIGUSR1);
    for (const int number : interrupts) {
        if (is_handled_by_program(number) || sigismember(&before, number) == 1) continue;
        interrupts_.push_back(number);
        handed_on_.push_back(number);
        sigaddset(&wanted, number);
    }
    file_ = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (file_ >= 0) {
        reader.thread.store(0, std::memory_order_relaxed);
        reader.process.store(getpid(), std::memory_order_relaxed);
        std::erase_if(handed_on_, [](int number) { return !hand_on_from_others(number); });
        return;
    }
    const error trouble = cannot_open("the signals of the job");
    restore_mask();
    throw trouble;
}

signal_inbox::~signal_inbox() {
    for (const int number : handed_on_) let_go(number);
    reader.process.store(0, std::memory_order_relaxed);
    restore_mask();
    close(file_);
}

void signal_inbox::read_here() {
    sigset_t interrupts;
    sigemptyset(&interrupts);
    for (const int number : interrupts_) sigaddset(&interrupts, number);
    pthread_sigmask(SIG_BLOCK, &interrupts, nullptr);
    const pid_t early = reader.thread.exchange(gettid(), std::memory_order_relaxed);
    if (early < 0) tgkill(getpid(), gettid(), -early);
}

int signal_inbox::take() {
    signalfd_siginfo info{};
    if (read(file_, &info, sizeof info) != ssize_t{sizeof info}) return 0;
    const int number = static_cast<int>(info.ssi_signo);
    if (std::ranges::find(interrupts_, number) == interrupts_.end()) return number;
    if (!is_handled_by(number, hand_on)) {
        give_back(number);
        return take();
    }
    let_go(number);
    return number;
}

void signal_inbox::restore_mask() const {
    sigset_t before;
    std::memcpy(&before, old_mask_, sizeof before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace selion::machine
