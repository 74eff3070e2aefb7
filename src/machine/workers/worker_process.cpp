// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "machine/host/memory_file.hpp"
#include "machine/process/program_start.hpp"
#include "machine/workers/worker_environment.hpp"
#include "selion/error.hpp"

namespace selion::machine::workers {
namespace {

constexpr std::chrono::milliseconds look_every{1};

/// What the new process has open, and which signals reach it.
class spawn_setting {
public:
    spawn_setting(int memory_file, int lifeline) {
        posix_spawn_file_actions_init(&files_);
        posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&files_, memory_file, memory_file);  // stays open
        posix_spawn_file_actions_adddup2(&files_, lifeline, lifeline);
        posix_spawnattr_init(&attributes_);
        // Ctrl-C waits until the worker has decided what it means, which is nothing.
        sigset_t interrupts;
        sigemptyset(&interrupts);
        sigaddset(&interrupts, SIGINT);
        posix_spawnattr_setsigmask(&attributes_, &interrupts);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
    }
    ~spawn_setting() {
        posix_spawn_file_actions_destroy(&files_);
        posix_spawnattr_destroy(&attributes_);
    }
    spawn_setting(const spawn_setting&) = delete;
    spawn_setting& operator=(const spawn_setting&) = delete;

    const posix_spawn_file_actions_t& files() const { return files_; }
    const posix_spawnattr_t& attributes() const { return attributes_; }

private:
    posix_spawn_file_actions_t files_{};
    posix_spawnattr_t attributes_{};
};

/// The ends of a pipe, which other programs do not inherit. @return 0, or the number of the error.
int make_pipe(std::array<int, 2>& ends) {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    for (int& end : ends) end = beyond_standard_streams(end);
    if (std::ranges::min(ends) >= 0) return 0;
    const int trouble = errno;
    for (const int end : ends) {
        if (end >= 0) close(end);
    }
    return trouble;
}

/// A hold on a process: the number of one that has ended can be another's, and this cannot. -1: the
/// kernel gives none, or numbers of files are scarce, and workers need one each anyway.
int hold_of(pid_t process) {
    const int hold = beyond_standard_streams(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    rlimit files{};
    if (hold < 0 || getrlimit(RLIMIT_NOFILE, &files) != 0) return hold;
    if (static_cast<rlim_t>(hold) < files.rlim_cur / 2) return hold;
    close(hold);
    return -1;
}

bool has_ended(int hold) {
    pollfd end{hold, POLLIN, 0};
    return poll(&end, 1, 0) == 1 && (end.revents & POLLIN) != 0;
}

std::string text_of(const siginfo_t& end) {
    if (end.si_code == CLD_EXITED) return fmt::format("ended with status {}", end.si_status);
    return fmt::format("was ended by signal {} ({})", end.si_status, strsignal(end.si_status));
}

}  // namespace

std::vector<std::string> inherited_variables() {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (!worker_environment::owns(*variable)) variables.emplace_back(*variable);
    }
    return variables;
}

worker_process::worker_process(std::uint32_t worker, const worker_start& start, int memory_file) {
    std::array<int, 2> ends{};
    int trouble = make_pipe(ends);
    const std::vector<std::string>& command = start.command;
    const std::string program = command.empty() ? "/proc/self/exe" : command.front();
    if (trouble == 0) {
        std::vector<std::string> arguments = command.empty() ? own_arguments() : command;
        std::vector<std::string> variables = start.variables;
        const worker_environment place{memory_file, ends[0], worker, static_cast<int>(getpid())};
        variables.push_back(place.to_variable());
        const spawn_setting setting(memory_file, ends[0]);
        trouble = posix_spawnp(&id_, program.c_str(), &setting.files(), &setting.attributes(),
                               pointers_to(arguments).data(), pointers_to(variables).data());
        close(ends[0]);
        if (trouble != 0) close(ends[1]);
    }
    if (trouble != 0) {
        throw error(status::system_failure, fmt::format("cannot start worker {}, {}: {}", worker,
                                                        program, std::strerror(trouble)));
    }
    lifeline_ = ends[1];
    hold_ = hold_of(id_);
    if (hold_ < 0 && errno == ESRCH) ending_ = "has ended";  // and somebody else has asked
}

worker_process::~worker_process() {
    if (!ending()) {
        kill_now();
        siginfo_t end{};
        while (await_change(end, WEXITED) != 0 && errno == EINTR) {
        }
    }
    close(lifeline_);
    if (hold_ >= 0) close(hold_);
}

int worker_process::await_change(siginfo_t& change, int which) const {
    return hold_ >= 0 ? waitid(P_PIDFD, static_cast<id_t>(hold_), &change, which)
                      : waitid(P_PID, static_cast<id_t>(id_), &change, which);
}

bool worker_process::send(int signal) const {
    if (hold_ >= 0) return syscall(SYS_pidfd_send_signal, hold_, signal, nullptr, 0) == 0;
    return kill(id_, signal) == 0;
}

std::optional<std::string> worker_process::ending() {
    if (ending_) return ending_;
    siginfo_t end{};
    if (await_change(end, WEXITED | WNOHANG) != 0) {
        // Somebody else has asked, or the program ignores its children.
        if (errno != ECHILD) return std::nullopt;
        if (hold_ >= 0 ? has_ended(hold_) : !send(0)) ending_ = "has ended";
    } else if (end.si_pid == id_) {
        ending_ = text_of(end);
    }
    return ending_;
}

bool worker_process::join(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!ending()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::sleep_for(look_every);
    }
    return true;
}

bool worker_process::stop() {
    if (ending() || !send(SIGSTOP)) return false;
    siginfo_t change{};
    while (await_change(change, WSTOPPED | WEXITED | WNOWAIT) != 0) {
        if (errno != EINTR) return false;
    }
    return change.si_code == CLD_STOPPED;
}

void worker_process::go_on() const { send(SIGCONT); }

void worker_process::kill_now() const { send(SIGKILL); }

}  // namespace selion::machine::workers
