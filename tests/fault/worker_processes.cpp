// SPDX-License-Identifier: Apache-2.0
// Pools whose program does what workers must outlive, or must not. Argument: what to do.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <selion/selion.hpp>

namespace {

using selion::worker_kind;
using selion::worker_pool;

const selion::routine id{"id", [] { return static_cast<std::int64_t>(getpid()); }};

void end(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);  // as a program does that looks after its children
}

/// A child that does nothing, with a number that is free. @return -1: none can be had so.
pid_t start_as(pid_t number) {
    constexpr int attempts = 200;  // others start processes too
    for (int i = 0; i < attempts; ++i) {
        std::ofstream last("/proc/sys/kernel/ns_last_pid");
        if (!(last << number - 1 << std::flush)) return -1;
        const pid_t child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
        if (child == number || child < 0) return child;
        end(child);
    }
    return -1;
}

/// A worker dies, and another process has its number.
void use_number_again() {
    worker_pool pool({.workers = 1, .kind = worker_kind::process});
    const auto worker = static_cast<pid_t>(pool.call(id).get());
    end(worker);
    const pid_t other = start_as(worker);
    if (other < 0) return void(std::puts("no number"));
    std::printf("%s\n", pool.call(id).get() > 0 ? "goes on" : "");
    pool.kill_workers();
    std::printf("other %s\n", waitpid(other, nullptr, WNOHANG) == 0 ? "lives" : "was ended");
    std::fflush(stdout);
    end(other);
}

/// @param program of the workers, from the working directory on, which becomes another one.
void go_elsewhere(const std::string& program) {
    worker_pool pool(
        {.workers = 1, .kind = worker_kind::process, .program = {program, "elsewhere"}});
    std::filesystem::current_path("/");
    const auto worker = static_cast<pid_t>(pool.call(id).get());
    end(worker);
    const std::int64_t next = pool.call(id).get();
    std::printf("%s\n", next != worker && next > 0 ? "goes on" : "is the same");
}

}  // namespace

int main(int argc, char** argv) {
    if (selion::serve_as_worker()) return 0;
    const std::string what = argc > 1 ? argv[1] : "";
    try {
        if (what == "number") use_number_again();
        if (what == "elsewhere") go_elsewhere(argv[2]);
    } catch (const selion::error& trouble) {
        std::printf("%s\n", trouble.what());
    }
}
