// SPDX-License-Identifier: Apache-2.0
// Pools of workers whose calls take too long, die, or are not asked for. Argument: what to do.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <selion/selion.hpp>

namespace {

using namespace std::chrono_literals;
using selion::worker_kind;
using selion::worker_pool;

const selion::routine id{"id", [] { return static_cast<std::int64_t>(getpid()); }};
const selion::routine rest{"rest", [](std::int64_t milliseconds) {
                               std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
                           }};
const selion::routine until_cancelled{"until_cancelled", [](selion::worker& self) {
                                          while (!self.is_cancelled()) std::this_thread::yield();
                                      }};
const selion::routine complain{"complain", [] { throw std::logic_error("I will not"); }};
const selion::routine report{
    "report", [](selion::worker& self, std::int64_t length) {
        const std::string text = self.read_file("/proc/version");
        self.print(text.substr(0, static_cast<std::size_t>(length)) + "\n");
    }};

/// Tells why a call has failed.
template <class Attempt>
void show(const char* what, Attempt attempt) {
    try {
        attempt();
        std::printf("%s: done\n", what);
    } catch (const selion::error& trouble) {
        std::printf("%s: %s\n", what, trouble.what());
    }
    std::fflush(stdout);
}

void time_out(selion::world& world, worker_kind kind) {
    worker_pool pool(world, {.workers = 1, .kind = kind, .depth = 4});
    auto running = kind == worker_kind::process ? pool.call({.timeout = 100ms}, rest, 60'000)
                                                : pool.call({.timeout = 100ms}, until_cancelled);
    auto behind = pool.call({.timeout = 10s}, id);
    auto waiting = pool.call({.timeout = 50ms}, rest, 1);
    show("waiting", [&] { waiting.wait(); });
    show("running", [&] { running.wait(); });
    show("behind", [&] { behind.wait(); });
    std::printf("replaced %llu\n", static_cast<unsigned long long>(pool.counts().replaced));
}

void lose_arrays(selion::world& world) {
    worker_pool pool(world, {.workers = 1, .kind = worker_kind::process});
    auto array = pool.allocate<double>(0, 100);
    array.write(0, std::vector<double>(100, 1));
    kill(static_cast<pid_t>(pool.call(id).get()), SIGKILL);
    show("call", [&] { pool.call(id).get(); });
    std::vector<double> back(100);
    show("read", [&] { array.read(0, back); });
}

void wait_for_ever(selion::world& world) {
    worker_pool pool(world, {.workers = 2, .kind = worker_kind::process});
    for (std::uint32_t i = 0; i < 2; ++i) {
        std::printf("worker %lld\n", static_cast<long long>(pool.call({.worker = i}, id).get()));
    }
    std::fflush(stdout);
    pool.call(rest, 60'000).wait();
}

void make_pool(selion::world& world, const std::vector<std::string>& program) {
    worker_pool pool(world, {.workers = 1, .kind = worker_kind::process, .program = program});
}

void refuse(selion::world& world) {
    show("none", [&] { worker_pool pool(world, {.workers = 0}); });
    show("deep", [&] { worker_pool pool(world, {.workers = 1, .depth = 65}); });
    show("rank", [&] { worker_pool pool(world, {.kind = worker_kind::rank}); });
    show("program", [&] { make_pool(world, {"/bin/true"}); });
    show("missing", [&] { make_pool(world, {"/nowhere/worker"}); });
    show("thread", [&] { worker_pool pool(world, {.workers = 1, .program = {"/bin/true"}}); });
    show("large", [&] {
        worker_pool pool(world, {.workers = 1, .kind = worker_kind::process, .memory_bytes = 4096});
        const std::vector<double> data(1000);
        pool.call("nothing", data).wait();
    });
}

int run(const std::string& what, selion::world& world) {
    if (what == "timeout-process") time_out(world, worker_kind::process);
    if (what == "timeout-thread") time_out(world, worker_kind::thread);
    if (what == "lost-arrays") lose_arrays(world);
    if (what == "wait") wait_for_ever(world);
    if (what == "refusals") refuse(world);
    if (what == "unseen") {
        worker_pool pool(world, {.workers = 1});
        for (int i = 0; i < 3; ++i) static_cast<void>(pool.call(complain));
    }
    if (what == "services") {
        for (const worker_kind kind : {worker_kind::thread, worker_kind::process}) {
            worker_pool pool(world, {.workers = 1, .kind = kind});
            pool.call(report, 5).wait();
        }
    }
    if (what == "rank-services") {
        worker_pool pool(world, {.kind = worker_kind::rank});
        if (pool.is_host()) pool.call({.worker = pool.size() - 1}, report, 5).wait();
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    return selion::run(argc, argv, {.machine = "threads:1"},
                       [&](selion::world& world) { return run(what, world); });
}
