// SPDX-License-Identifier: Apache-2.0
#include "machine/process/bounded_end.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace selion::machine {
namespace {

struct ending {
    std::atomic<int> status = 0;
    std::atomic<int> signal = 0;  ///< 0: by the status
    std::atomic<const char*> text = nullptr;
};
ending wanted;

void unblock(int number) {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, number);
    pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
}

void on_alarm(int) {
    if (const char* const text = wanted.text.load(std::memory_order_relaxed)) {
        // Nobody can be told that it could not be written.
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
    }
    if (const int number = wanted.signal.load(std::memory_order_relaxed)) die_of(number);
    _exit(wanted.status.load(std::memory_order_relaxed));
}

void set_alarm(unsigned seconds) {
    struct sigaction taken {};
    taken.sa_handler = on_alarm;
    sigaction(SIGALRM, &taken, nullptr);
    unblock(SIGALRM);
    alarm(seconds);
}

}  // namespace

void die_of(int signal) noexcept {
    ::signal(signal, SIG_DFL);
    unblock(signal);
    raise(signal);
}

void leave_within(unsigned seconds, int status) noexcept {
    wanted.status.store(status, std::memory_order_relaxed);
    wanted.signal.store(0, std::memory_order_relaxed);
    wanted.text.store(nullptr, std::memory_order_relaxed);
    set_alarm(seconds);
}

void die_within(unsigned seconds, int signal, const char* text) noexcept {
    wanted.status.store(1, std::memory_order_relaxed);
    wanted.text.store(text, std::memory_order_relaxed);
    wanted.signal.store(signal, std::memory_order_relaxed);
    set_alarm(seconds);
}

}  // namespace selion::machine
