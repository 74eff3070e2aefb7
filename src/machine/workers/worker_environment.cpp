// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/worker_environment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "base/log.hpp"
#include "machine/workers/pool_memory.hpp"
#include "machine/workers/routine_list.hpp"
#include "machine/workers/worker_bell.hpp"
#include "machine/workers/worker_loop.hpp"

namespace selion::machine::workers {
namespace {

constexpr const char* place_name = "SELION_JOB_WORKER";

/// Ends the process when the host has ended: nobody else will. The host's end of the lifeline may
/// live on, in a child that it has forked; its process does not.
void end_with_host(const worker_environment& place) {
    const auto host = static_cast<int>(syscall(SYS_pidfd_open, place.parent, 0));
    if (getppid() != place.parent) _exit(EXIT_FAILURE);  // it has ended, and another has its number
    std::thread([lifeline = place.lifeline, host] {
        // Where the kernel has no files for processes, the negative one is passed over.
        std::array<pollfd, 2> signs{{{lifeline, 0, 0}, {host, POLLIN, 0}}};
        while (poll(signs.data(), signs.size(), -1) < 0 && errno == EINTR) {
        }
        _exit(EXIT_FAILURE);
    }).detach();
}

/// The host has Ctrl-C too, and decides. It is not ignored: programs that a routine starts would
/// ignore it as well. Until now it was held back.
void leave_interrupts_to_host() {
    struct sigaction now {};
    if (sigaction(SIGINT, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) {
        struct sigaction nothing {};
        nothing.sa_handler = [](int) {};
        nothing.sa_flags = SA_RESTART;
        sigaction(SIGINT, &nothing, nullptr);
    }
    sigset_t interrupts;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &interrupts, nullptr);
}

void serve(const worker_environment& place) {
    leave_interrupts_to_host();
    end_with_host(place);
    const result<pool_memory> attached = pool_memory::attach(place.memory_file, place.worker);
    if (!attached) throw attached.trouble();
    const pool_memory& memory = attached.value();
    worker_area& area = memory.area(0);
    const auto routines = own_routines();
    const std::string list = encode_list(routines);
    if (list.size() > area.list.size()) {
        throw error(status::bad_argument,
                    fmt::format("this program has {} routines, more than a worker can name",
                                routines.size()));
    }
    std::memcpy(area.list.data(), list.data(), list.size());
    area.list_bytes = static_cast<std::uint32_t>(list.size());
    // release: the list before the flag [worker.ready]
    std::atomic_ref(area.is_ready).store(1, std::memory_order_release);
    ring_bell(memory.head().host_bell, true);
    serve_calls({area, memory.head(), memory.start(), place.worker, true, memory.file()}, routines);
}

}  // namespace

std::string worker_environment::to_variable() const {
    return fmt::format("{}={} {} {} {}", place_name, memory_file, lifeline, worker, parent);
}

std::optional<worker_environment> worker_environment::take() {
    const char* value = std::getenv(place_name);
    std::istringstream words(value != nullptr ? value : "");
    unsetenv(place_name);
    worker_environment found;
    if (!(words >> found.memory_file >> found.lifeline >> found.worker >> found.parent)) return {};
    if (found.parent != getppid()) {
        if (kill(found.parent, 0) != 0) _exit(EXIT_FAILURE);  // its host has died already
        // As an ordinary program it could make a pool of its own, and so on without end.
        throw error(status::system_failure,
                    fmt::format("this program was started as worker {}, but not by the pool "
                                "itself: let the program that the pool starts `exec` it",
                                found.worker));
    }
    // What the host's pool has is not for the programs that routines start.
    for (const int file : {found.memory_file, found.lifeline}) fcntl(file, F_SETFD, FD_CLOEXEC);
    return found;
}

bool worker_environment::is_there() { return std::getenv(place_name) != nullptr; }

bool worker_environment::owns(std::string_view variable) {
    return variable.starts_with(place_name);
}

bool serve_if_worker() {
    const std::optional<worker_environment> place = worker_environment::take();
    if (!place) return false;
    serve(*place);
    return true;
}

}  // namespace selion::machine::workers
