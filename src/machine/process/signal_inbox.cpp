// SPDX-License-Identifier: Apache-2.0
#include "machine/process/signal_inbox.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
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

/// The system gives a signal of the process to any thread that does not block it.
struct handing_on {
    std::atomic<pid_t> process = 0;
    /// Who reads; 0: nobody yet; below that: nor when signals came, whose bits the negative has.
    std::atomic<std::int64_t> thread = 0;
};
handing_on reader;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

void hand_on(int number) {
    const int before = errno;
    if (reader.process.load(std::memory_order_relaxed) != getpid()) {
        die_of(number);  // a copy of the process, or the inbox is gone
    } else {
        const std::int64_t bit = std::int64_t{1} << number;
        std::int64_t thread = reader.thread.load(std::memory_order_relaxed);
        while (thread <= 0) {
            const std::int64_t noted = -(-thread | bit);
            if (reader.thread.compare_exchange_weak(thread, noted, std::memory_order_relaxed))
                break;
        }
        if (thread > 0) tgkill(getpid(), static_cast<pid_t>(thread), number);
    }
    errno = before;
}

bool hand_on_from_others(int number) {
    struct sigaction wanted {};
    wanted.sa_handler = hand_on;
    wanted.sa_flags = SA_RESTART | SA_NOCLDSTOP;
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
    static_assert(sizeof(sigset_t) <= sizeof mask_);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : signals) {
        if (is_handled_by_program(number)) continue;
        handed_on_.push_back(number);
        sigaddset(&wanted, number);
    }
    for (const int number : interrupts) {
        if (is_handled_by_program(number) || sigismember(&before, number) == 1) continue;
        interrupts_.push_back(number);
        handed_on_.push_back(number);
        sigaddset(&wanted, number);
    }
    file_ = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (file_ < 0) throw cannot_open("the signals of the job");
    reader.thread.store(0, std::memory_order_relaxed);
    reader.process.store(getpid(), std::memory_order_relaxed);
    for (const int number : handed_on_) hand_on_from_others(number);
}

signal_inbox::~signal_inbox() {
    stop();
    close(file_);
}

void signal_inbox::stop() {
    // Before what is still to come is let through: a handler would send it here again.
    for (const int number : handed_on_) let_go(number);
    handed_on_.clear();
    reader.process.store(0, std::memory_order_relaxed);
    std::vector<int> unread;
    const std::int64_t early = reader.thread.exchange(0, std::memory_order_relaxed);
    for (int number = 1; early < 0 && number < SIGRTMIN; ++number) {
        if ((-early >> number & 1) != 0) unread.push_back(number);
    }
    signalfd_siginfo info{};
    while (read(file_, &info, sizeof info) == ssize_t{sizeof info}) {
        unread.push_back(static_cast<int>(info.ssi_signo));
    }
    if (reader_ == gettid()) restore_mask();
    reader_ = 0;
    // Who wanted a report of the job has come too late, and would end the program.
    for (const int number : unread) {
        if (number != SIGUSR1 && number != SIGCHLD) kill(getpid(), number);
    }
}

void signal_inbox::read_here() {
    sigset_t wanted;
    sigset_t before;
    sigemptyset(&wanted);
    for (const int number : handed_on_) sigaddset(&wanted, number);
    pthread_sigmask(SIG_BLOCK, &wanted, &before);
    std::memcpy(mask_, &before, sizeof before);
    reader_ = gettid();
    const std::int64_t early = reader.thread.exchange(reader_, std::memory_order_relaxed);
    for (const int number : handed_on_) {
        if (early < 0 && (-early >> number & 1) != 0) tgkill(getpid(), reader_, number);
    }
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
    std::memcpy(&before, mask_, sizeof before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void signal_inbox::have_effect(int number) {
    stop();
    raise(number);
}

}  // namespace selion::machine
