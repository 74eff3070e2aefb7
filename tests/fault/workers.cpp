// SPDX-License-Identifier: Apache-2.0
// Pools of workers whose calls take too long, die, or are not asked for. Argument: what to do.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <selion/selion.hpp>
#include <selion/spc.hpp>

namespace {

using namespace std::chrono_literals;
using selion::worker_kind;
using selion::worker_pool;

const selion::routine id{"id", [] { return static_cast<std::int64_t>(getpid()); }};
const selion::routine rest{"rest", [](std::int64_t milliseconds) {
                               std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
                           }};
/// Makes a file, and rests.
const selion::routine announce{"announce", [](std::span<const char> path) {
                                   std::ofstream(std::string(path.data(), path.size())).flush();
                                   std::this_thread::sleep_for(60s);
                               }};
std::atomic<bool> has_begun = false;  // until_cancelled, on a thread of the host
const selion::routine until_cancelled{"until_cancelled", [](selion::worker& self) {
                                          has_begun = true;
                                          while (!self.is_cancelled()) std::this_thread::yield();
                                      }};
const selion::routine complain{"complain", [] { throw std::logic_error("I will not"); }};
const selion::routine report{
    "report", [](selion::worker& self, std::int64_t length) {
        const std::string text = self.read_file("/proc/version");
        self.print(text.substr(0, static_cast<std::size_t>(length)) + "\n");
    }};

const selion::routine length_of{
    "length_of", [](selion::worker& self, std::span<const char> path) {
        return std::uint64_t{self.read_file({path.data(), path.size()}).size()};
    }};
const selion::routine shout{"shout", [](selion::worker& self, std::uint64_t length) {
                                self.print(std::string(length, '!') + "\n");
                            }};
const selion::routine chatter{"chatter", [](selion::worker& self) {
                                  const char own = static_cast<char>('a' + self.number());
                                  for (int i = 0; i < 10; ++i) {
                                      self.print(std::string(300'000, own) + "\n");
                                  }
                              }};
const selion::routine total{"total", [](std::span<const std::int32_t> data) {
                                return std::accumulate(data.begin(), data.end(), std::int64_t{0});
                            }};
const selion::routine for_ever{"for_ever", [] {
                                   selion::counter never;
                                   never.wait(1);  // site: routine
                               }};
const selion::routine computing{"computing", [](selion::worker& self) {
                                    while (!self.is_cancelled())
                                        selion::charge(selion::nanoseconds(1000));
                                    return std::int64_t{0};
                                }};
const selion::routine never_looking{"never_looking", [](selion::worker&) {
                                        selion::charge(selion::nanoseconds(20'000'000));
                                        return std::int64_t{0};
                                    }};
const std::vector<std::int32_t> ones_of_pool(10, 1);
const selion::routine dies{"dies", [] { kill(getpid(), SIGKILL); }};
/// Its child comes back from it too, or throws.
const selion::routine forks{"forks", [](bool throws) {
                                const pid_t child = fork();
                                if (child == 0 && throws) throw std::logic_error("of the child");
                                int status = 0;
                                if (child != 0) waitpid(child, &status, 0);
                                return child == 0 ? -1 : WEXITSTATUS(status);
                            }};
const selion::routine three{
    "three", [](std::span<const char>, std::span<const char>, std::span<const char>) {}};

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
    show("over", [&] { pool.call({.timeout = -1ns}, id).wait(); });
    std::printf("replaced %llu\n", static_cast<unsigned long long>(pool.counts().replaced));
}

/// Calls that are skipped take none of the workers' time.
void measure_skipped(selion::world& world, worker_kind kind) {
    worker_pool pool(world, {.kind = kind, .depth = 64, .measures = true});
    pool.serve();
    if (!pool.is_host()) return;
    for (int i = 0; i < 64; ++i) pool.call({.worker = 0}, rest, i == 1 ? 1000 : 0).wait();
    const auto before = pool.profile().compute;
    const auto start = std::chrono::steady_clock::now();
    auto slow = pool.call({.worker = 0}, until_cancelled);
    auto skipped = pool.call({.worker = 0}, rest, 0);  // in the place of the longest
    skipped.cancel();
    while (!has_begun) selion::progress();
    slow.cancel();
    show("skipped", [&] { skipped.wait(); });
    slow.wait();
    const auto elapsed = std::chrono::steady_clock::now() - start;
    std::printf("%s\n", pool.profile().compute - before < elapsed + 500ms ? "right" : "wrong");
}

/// The worker computes between its looks, as on a bus that reaches nobody who computes.
void give_up_on_ranks(selion::world& world) {
    worker_pool pool(world, {.kind = worker_kind::rank});
    pool.serve();
    if (!pool.is_host()) return;
    const auto show_time = [&](const char* what, auto attempt) {
        const std::int64_t start_ns = world.now();
        show(what, attempt);
        std::printf("after %lld us\n", static_cast<long long>((world.now() - start_ns) / 1000));
    };
    for (const auto* const each : {&computing, &never_looking}) {
        auto late = pool.call({.worker = 0, .timeout = 5ms}, *each);
        show_time("late", [&] { late.wait(); });
        show_time("next", [&] { pool.call({.worker = 0}, id).wait(); });
        auto given_up = pool.call({.worker = 0}, *each);
        show_time("cancelled", [&] { given_up.cancel(); });
        show_time("ended", [&] { given_up.wait(); });
    }
}

/// Where the host goes on while its transfers are under way, they are counted all the same.
void measure_ways(selion::world& world) {
    worker_pool pool(world, {.kind = worker_kind::rank, .memory_bytes = 1 << 20, .measures = true});
    pool.serve();
    if (!pool.is_host()) return;
    const std::vector<std::int32_t> data(50'000, 1);
    std::vector<selion::routine_call<std::int64_t>> calls;
    for (int i = 0; i < 40; ++i) calls.push_back(pool.call(total, data));
    pool.wait_all();
    const selion::pool_profile all = pool.profile();
    const double share = (all.in + all.out) / all.elapsed;
    std::printf("%s\n%.0f %%\n", pool.verdict().c_str(), 100 * share);
}

/// Pools of ranks, each with the memory that it takes by itself. @param count 1 or 2.
void fill_small_memory(selion::world& world, int count) {
    const std::vector<std::int32_t> ones(100, 1);
    worker_pool pool(world, {.workers = 1, .kind = worker_kind::rank});
    if (count == 2) fill_small_memory(world, 1);
    if (pool.is_host()) {
        std::printf("%lld\n", static_cast<long long>(pool.call(total, ones).get()));
    }
}

void use_moved_handle(const std::string& what, selion::world& world) {
    worker_pool pool(world, {.workers = 1});
    auto call = pool.call(total, ones_of_pool);
    auto array = pool.allocate<std::int32_t>(0, 4);
    auto replica = pool.replicate(ones_of_pool);
    const auto their_call = std::move(call);
    const auto their_array = std::move(array);
    const auto their_replica = std::move(replica);
    std::vector<std::int32_t> back(4);
    if (what == "moved-call") call.wait();           // site: moved-call
    if (what == "moved-array") array.read(0, back);  // site: moved-array
    if (what == "moved-argument") static_cast<void>(pool.call(total, array));
    if (what == "moved-replica") static_cast<void>(pool.call(total, replica));
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

/// Ends a worker, and waits until it has ended; the pool has not seen it then.
void end_worker(worker_pool& pool, std::uint32_t worker) {
    const auto process = static_cast<pid_t>(pool.call({.worker = worker}, id).get());
    kill(process, SIGKILL);
    siginfo_t end{};
    waitid(P_PID, static_cast<id_t>(process), &end, WEXITED | WNOWAIT);
}

/// What lies on another worker as well is not lost.
void lose_replica(selion::world& world) {
    worker_pool pool(world, {.workers = 2, .kind = worker_kind::process});
    const std::vector<std::int32_t> ones(100, 1);
    const auto everywhere = pool.replicate(ones);
    end_worker(pool, 0);
    std::vector<selion::routine_call<std::int64_t>> calls;
    for (int i = 0; i < 6; ++i) calls.push_back(pool.call(total, everywhere));
    for (auto& call : calls) show("call", [&] { call.wait(); });
    end_worker(pool, 1);
    show("none left", [&] { pool.call(total, everywhere).wait(); });
    std::printf("replaced %llu\n", static_cast<unsigned long long>(pool.counts().replaced));
}

/// The workers' program is a name that is taken away.
void lose_successor(selion::world& world, const std::string& name) {
    std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"), name);
    worker_pool pool(world, {.workers = 2, .kind = worker_kind::process, .program = {name}});
    std::filesystem::remove(name);
    end_worker(pool, 0);
    const std::vector<std::int32_t> ones(100, 1);
    show("own", [&] { pool.call({.worker = 0}, total, ones).wait(); });
    show("own", [&] { pool.call({.worker = 0}, total, ones).wait(); });
    const auto everywhere = pool.replicate(ones);
    for (int i = 0; i < 3; ++i) show("any", [&] { pool.call(total, everywhere).wait(); });
}

void read_files(worker_pool& pool, const std::string& file) {
    std::printf("%llu\n", static_cast<unsigned long long>(pool.call(length_of, file).get()));
    for (const std::string path : {"/nowhere/file", "/proc", ""}) {
        show("read", [&] { pool.call(length_of, path).wait(); });
    }
}

/// The slave takes 65,536 bytes.
void call_slave(const std::string& slave) {
    using namespace selion::spc;
    const std::vector<std::int32_t> data(65536, 1);
    spc_server board(slave);
    const auto call_with = [&](std::int32_t count) {
        spc_args arguments;
        arguments.put_i32(SPC_IN, count);
        arguments.put_vi32(SPC_IN, data.data(), static_cast<std::size_t>(count));
        arguments.put_i32(SPC_OUT);
        board.call(0, arguments);
    };
    const auto read = [&] {
        std::int32_t sum = 0;
        board.wait();
        board.get_i32(&sum);
        std::printf("sum %d\n", sum);
    };
    call_with((65536 - 8) / 4);
    show("all", read);
    call_with((65536 - 8) / 4 + 1);
    show("more", read);
    call_with(16);
    board = spc_server(slave);  // the call goes with the other
    show("new", read);
    call_with(5);
    show("own", read);
    show("vector", [&] {
        spc_args arguments;
        arguments.put_vi32(SPC_IN, data.data(), 2);
        arguments.put_vi32(SPC_IN, data.data(), 1);
        arguments.put_i32(SPC_OUT);
        board.call(0, arguments);
        board.wait();
    });
    show("long", [&] {
        spc_args arguments;
        arguments.put_vf64(SPC_OUT, nullptr, std::size_t{1} << 40);
        board.call(0, arguments);
    });
    show("endless", [&] { spc_args().put_vf64(SPC_OUT, nullptr, std::size_t{1} << 61); });
}

/// A child of the host has the pool's memory, and must not call its workers.
void call_from_a_child(selion::world& world) {
    worker_pool pool(world, {.workers = 1, .kind = worker_kind::process});
    const std::vector<std::int32_t> ones(100, 1);
    auto call = pool.call(total, ones);
    auto behind = pool.call(id);
    const pid_t child = fork();
    if (child == 0) {
        show("cancel", [&] { behind.cancel(); });
        show("call", [&] { pool.call(id).get(); });
        show("array", [&] { pool.allocate<double>(0, 4); });
        std::_Exit(0);
    }
    waitpid(child, nullptr, 0);
    show("host", [&] { call.wait(); });
    show("behind", [&] { behind.wait(); });
    show("again", [&] { pool.call(total, ones).wait(); });
}

/// Its host stays awake for longer than anybody waits.
void die_while_the_host_spins() {
    worker_pool pool({.workers = 1, .kind = worker_kind::process, .spin = 5min});
    show("dies", [&] { pool.call(dies).wait(); });
    show("next", [&] { pool.call(rest, 50).wait(); });
}

/// What a routine has forked is no worker.
void fork_on_workers(selion::world& world, worker_kind kind) {
    worker_pool pool(world, {.workers = 1, .kind = kind});
    if (!pool.is_host()) return;
    std::printf("%d", pool.call(forks, false).get());
    std::printf(" %d", pool.call(forks, true).get());
    const std::vector<std::int32_t> ones(100, 1);
    for (int i = 0; i < 4; ++i) {
        std::printf(" %lld", static_cast<long long>(pool.call(total, ones).get()));
    }
    std::printf("\n");
}

void kill_workers(selion::world& world, const std::string& file) {
    worker_pool pool(world, {.workers = 1, .kind = worker_kind::process, .depth = 2});
    auto done = pool.call(id);
    done.wait();
    auto running = pool.call(announce, file);
    auto sent = pool.call(id);
    auto waiting = pool.call(id);
    while (!std::filesystem::exists(file)) std::this_thread::sleep_for(1ms);
    pool.kill_workers();
    show("done", [&] { done.wait(); });
    show("running", [&] { running.wait(); });
    show("sent", [&] { sent.wait(); });
    show("waiting", [&] { waiting.wait(); });
    show("later", [&] { pool.call(id).wait(); });
    worker_pool threads(world, {.workers = 1});
    show("threads", [&] { threads.kill_workers(); });
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

/// Addresses of this process, in bytes.
rlim_t addresses() {
    std::ifstream pages("/proc/self/statm");
    rlim_t count = 0;
    pages >> count;
    return count * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

void make_too_many_threads(selion::world& world) {
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    const rlimit few{addresses() + (rlim_t{1} << 30), before.rlim_max};
    setrlimit(RLIMIT_AS, &few);
    show("threads", [&] { worker_pool pool(world, {.workers = 2000, .memory_bytes = 4096}); });
    setrlimit(RLIMIT_AS, &before);
}

void refuse(selion::world& world, const std::string& self) {
    show("none", [&] { worker_pool pool(world, {.workers = 0}); });
    show("deep", [&] { worker_pool pool(world, {.workers = 1, .depth = 65}); });
    show("rank", [&] { worker_pool pool(world, {.kind = worker_kind::rank}); });
    show("seen", [&] { worker_pool pool(world, {.kind = worker_kind::rank, .shared_bytes = 1}); });
    show("program", [&] { make_pool(world, {"/bin/true"}); });
    show("missing", [&] { make_pool(world, {"/nowhere/worker"}); });
    // "nothing": a program that goes on as it would without a host ends at once.
    show("wrapper", [&] { make_pool(world, {"/bin/sh", "-c", "\"$0\" nothing; exit $?", self}); });
    show("memory", [&] { worker_pool pool(world, {.memory_bytes = ~std::uint64_t{0}}); });
    show("shared", [&] { worker_pool pool(world, {.shared_bytes = ~std::uint64_t{0}}); });
    show("thread", [&] { worker_pool pool(world, {.workers = 1, .program = {"/bin/true"}}); });
    show("large", [&] {
        worker_pool pool(world, {.workers = 1, .kind = worker_kind::process, .memory_bytes = 4096});
        const std::vector<double> data(1000);
        pool.call("nothing", data).wait();
    });
    show("padded", [&] {
        worker_pool pool(world, {.workers = 1, .kind = worker_kind::process, .memory_bytes = 4096});
        const std::vector<char> first(1000);
        const std::vector<char> second(3000);
        const std::vector<char> third(96);
        pool.call(three, first, second, third).wait();
    });
}

/// On ranks; rank 0 is the host.
void serve(const std::string& what, const std::string& file, selion::world& world) {
    worker_pool pool(world, {.kind = worker_kind::rank, .depth = what == "rank-depth" ? 64U : 0U});
    if (!pool.is_host()) return;
    if (what == "rank-services") pool.call({.worker = pool.size() - 1}, report, 5).wait();
    if (what == "rank-files") read_files(pool, file);
    if (what == "rank-shouts") pool.call(shout, std::uint64_t{5} << 20).wait();
    if (what == "rank-depth") show("call", [&] { pool.call(rest, 0).wait(); });
}

/// The host waits for a worker that waits for ever; another one has nothing to do.
void wait_in_vain(const std::string& what, selion::world& world) {
    worker_pool pool(world, {.kind = worker_kind::rank});  // site: pool
    pool.serve();                                          // site: serve
    if (!pool.is_host()) return;
    auto array = pool.allocate<double>(0, 4);
    std::vector<double> back(4);
    std::vector<selion::routine_call<>> calls;
    calls.push_back(pool.call({.worker = 0}, for_ever));
    if (what == "hang-wait") calls.front().wait();               // site: wait
    if (what == "hang-any") pool.wait_any(calls);                // site: any
    if (what == "hang-all") pool.wait_all();                     // site: all
    if (what == "hang-read") array.read(0, back);                // site: read
    if (what == "hang-room") pool.allocate<double>(0, 1 << 19);  // site: room
}

void run_unseen(selion::world& world) {
    worker_pool pool(world, {.workers = 1});
    for (int i = 0; i < 3; ++i) static_cast<void>(pool.call(complain));
    const auto busy = pool.call(rest, 50);
    auto given_up = pool.call(rest, 1);
    given_up.cancel();
}

int run(const std::string& what, const std::string& self, const std::string& file,
        selion::world& world) {
    if (what == "timeout-process") time_out(world, worker_kind::process);
    if (what == "timeout-thread") time_out(world, worker_kind::thread);
    if (what == "skipped-thread") measure_skipped(world, worker_kind::thread);
    if (what == "skipped-rank") measure_skipped(world, worker_kind::rank);
    if (what == "ranks-given-up") give_up_on_ranks(world);
    if (what == "ways") measure_ways(world);
    if (what == "small-memory") fill_small_memory(world, 1);
    if (what == "small-memories") fill_small_memory(world, 2);
    if (what.starts_with("moved-")) use_moved_handle(what, world);
    if (what == "lost-arrays") lose_arrays(world);
    if (what == "wait") wait_for_ever(world);
    if (what == "chatter") {
        worker_pool pool(world, {.workers = 2, .kind = worker_kind::process});
        for (std::uint32_t i = 0; i < 2; ++i) static_cast<void>(pool.call({.worker = i}, chatter));
    }
    if (what == "forked") call_from_a_child(world);
    if (what == "forking-process") fork_on_workers(world, worker_kind::process);
    if (what == "forking-thread") fork_on_workers(world, worker_kind::thread);
    if (what == "forking-rank") fork_on_workers(world, worker_kind::rank);
    if (what == "spinning") die_while_the_host_spins();
    if (what == "killed") kill_workers(world, file);
    if (what == "refusals") refuse(world, self);
    if (what == "threads") make_too_many_threads(world);
    if (what == "lost-replica") lose_replica(world);
    if (what == "lost-successor") lose_successor(world, file);
    if (what == "spc") call_slave(file);
    if (what == "unseen") run_unseen(world);
    if (what == "quiet") {
        worker_pool pool(world, {.workers = 2, .kind = worker_kind::process});
        return pool.call(id).get() != getpid() ? 0 : 1;
    }
    if (what == "files") {
        worker_pool pool(world, {.workers = 1, .kind = worker_kind::process});
        read_files(pool, file);
    }
    if (what == "services") {
        for (const worker_kind kind : {worker_kind::thread, worker_kind::process}) {
            worker_pool pool(world, {.workers = 1, .kind = kind});
            pool.call(report, 5).wait();
        }
    }
    if (what.starts_with("rank-")) serve(what, file, world);
    if (what.starts_with("hang-")) wait_in_vain(what, world);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const std::string file = argc > 2 ? argv[2] : "";
    if (what == "early") {  // its workers come by here too
        show("pool", [] { worker_pool({.workers = 1, .kind = worker_kind::process}); });
        return 1;
    }
    return selion::run(argc, argv, {.machine = "threads:1"},
                       [&](selion::world& world) { return run(what, argv[0], file, world); });
}
