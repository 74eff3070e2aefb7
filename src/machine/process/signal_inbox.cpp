// SPDX-License-Identifier: Apache-2.0
#include "machine/process/signal_inbox.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

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
/// which people send for a report, and would have the process ended. It hands the signal on.
struct handing_on {
    std::atomic<pid_t> process = 0;
    std::atomic<pid_t> thread = 0;  ///< who reads the inbox
};
handing_on reader;

void hand_on(int number) {
    const int before = errno;
    if (reader.process.load(std::memory_order_relaxed) == getpid()) {
        tgkill(getpid(), reader.thread.load(std::memory_order_relaxed), number);
    } else {  // a copy of the process, which has the handler, but no inbox
        die_of(number);
    }
    errno = before;
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
    if (file_ >= 0) {
        hand_on_from_others(sigismember(&wanted, SIGUSR1) == 1);
        return;
    }
    const error trouble = cannot_open("the signals of the job");
    restore_mask();
    throw trouble;
}

void signal_inbox::hand_on_from_others(bool is_wanted) {
    if (!is_wanted) return;
    reader.thread.store(gettid(), std::memory_order_relaxed);
    reader.process.store(getpid(), std::memory_order_relaxed);
    struct sigaction wanted {};
    wanted.sa_handler = hand_on;
    wanted.sa_flags = SA_RESTART;
    hands_on_ = sigaction(SIGUSR1, &wanted, nullptr) == 0;
}

signal_inbox::~signal_inbox() {
    // Unless the program has taken it meanwhile.
    if (hands_on_ && is_handled_by(SIGUSR1, hand_on)) ::signal(SIGUSR1, SIG_DFL);
    restore_mask();
    close(file_);
}

int signal_inbox::take() {
    reader.thread.store(gettid(), std::memory_order_relaxed);
    signalfd_siginfo info{};
    if (read(file_, &info, sizeof info) != ssize_t{sizeof info}) return 0;
    return static_cast<int>(info.ssi_signo);
}

void signal_inbox::restore_mask() const {
    sigset_t before;
    std::memcpy(&before, old_mask_, sizeof before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace selion::machine
