// SPDX-License-Identifier: Apache-2.0
#include "machine/process/last_words.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include "machine/host/host.hpp"
#include "machine/process/bounded_end.hpp"

namespace selion::machine {
namespace {

constexpr std::array<int, 3> interrupts{SIGINT, SIGTERM, SIGHUP};
constexpr int longest_wait_ms = 500;

/// Notes to the thread that waits for them; else the number of a signal.
constexpr unsigned char stop = 0;
constexpr unsigned char dying = 255;

/// What handlers may touch.
struct handler_state {
    std::atomic<int> notes = -1;         ///< where notes are written
    std::atomic<int> done = -1;          ///< becomes readable when everything is done
    std::atomic<pid_t> process = 0;      ///< in which somebody waits for notes
    std::atomic<bool> is_dying = false;  ///< of a signal that has been noted
};
handler_state state;

void note(int file, unsigned char what) {
    while (write(file, &what, 1) < 0 && errno == EINTR) {
    }
}

void on_interrupt(int number) {
    const int before = errno;
    // A process that a rank has forked has the handler, but not the thread.
    if (state.process.load(std::memory_order_relaxed) == getpid()) {
        state.is_dying.store(true, std::memory_order_relaxed);
        note(state.notes.load(std::memory_order_relaxed), static_cast<unsigned char>(number));
    } else {
        die_of(number);
    }
    errno = before;
}

/// Guards everything that is not for handlers, and lasts while the last words are said.
std::mutex speaking;
last_words* speaker = nullptr;

}  // namespace

last_words::last_words(std::function<void()> act) : act_(std::move(act)) {}

last_words::~last_words() {
    if (!thread_.joinable()) return;
    for (const int number : taken_) {
        // Unless the program has taken it meanwhile.
        if (number != 0 && is_handled_by(number, on_interrupt)) ::signal(number, SIG_DFL);
    }
    note(ends_[1], stop);
    thread_.join();
    const std::lock_guard lock(speaking);
    speaker = nullptr;
    state.process.store(0, std::memory_order_relaxed);
    for (const int file : {ends_[0], ends_[1], done_}) close(file);
}

void last_words::arm() {
    const std::lock_guard lock(speaking);
    if (speaker != nullptr || pipe2(ends_.data(), O_CLOEXEC) != 0) return;
    done_ = eventfd(0, EFD_CLOEXEC);
    if (done_ < 0 || !start_serving()) {
        for (const int file : {ends_[0], ends_[1], done_}) {
            if (file >= 0) close(file);
        }
        return;  // the job goes on; what it would say is lost
    }
    speaker = this;
    state.notes.store(ends_[1], std::memory_order_relaxed);
    state.done.store(done_, std::memory_order_relaxed);
    state.process.store(getpid(), std::memory_order_relaxed);
    for (std::size_t i = 0; i < interrupts.size(); ++i) {
        if (!is_handled_by(interrupts[i], SIG_DFL)) continue;
        struct sigaction wanted {};
        wanted.sa_handler = on_interrupt;
        wanted.sa_flags = SA_RESTART;
        sigaction(interrupts[i], &wanted, nullptr);
        taken_[i] = interrupts[i];
    }
}

bool last_words::start_serving() {
    // The program's own handlers must not run on this thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread_.joinable();
}

void last_words::serve() const {
    unsigned char what = stop;
    while (true) {
        const ssize_t bytes = read(ends_[0], &what, 1);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes != 1 || what == stop) return;
        say_last_words();
        eventfd_write(done_, 1);
        if (what != dying) die_of(what);
    }
}

void say_last_words() {
    if (state.process.load(std::memory_order_relaxed) != getpid()) return;
    const std::lock_guard lock(speaking);
    if (speaker == nullptr) return;
    if (const std::function<void()> act = std::exchange(speaker->act_, nullptr)) act();
}

void die_with_last_words(int signal) {
    say_last_words();
    die_of(signal);
    _exit(128 + signal);  // it is ignored by now
}

void die_if_interrupted() {
    const bool is_own = state.process.load(std::memory_order_relaxed) == getpid();
    while (is_own && state.is_dying.load(std::memory_order_relaxed)) pause();
}

void say_last_words_from_handler() {
    if (state.process.load(std::memory_order_relaxed) != getpid()) return;
    note(state.notes.load(std::memory_order_relaxed), dying);
    pollfd done{state.done.load(std::memory_order_relaxed), POLLIN, 0};
    poll(&done, 1, longest_wait_ms);
}

}  // namespace selion::machine
