// SPDX-License-Identifier: Apache-2.0
// One rank that calls a routine of a worker on the second core, and waits for it.
#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <vector>

#include "harness/contest.hpp"
#include "peers.hpp"

namespace {

using bench::contest;
using selion::worker_kind;
using selion::worker_pool;

const selion::routine nothing{"nothing", [] {}};

constexpr std::uint64_t under_way = 32;

using pool_pointer = std::shared_ptr<worker_pool>;

pool_pointer make_pool(selion::world& world, worker_kind kind) {
    return std::make_shared<worker_pool>(
        world, selion::worker_pool_options{.workers = 1, .kind = kind, .depth = under_way});
}

/// Calls until the worker is awake and has a core to itself, 20 ms at most.
void wake(const bench::peer& one) {
    constexpr std::int64_t patience_ns = 20'000'000;
    const std::int64_t end = bench::now_ns() + patience_ns;
    for (int quick = 0; quick < 8 && bench::now_ns() < end;) {
        const std::int64_t start = bench::now_ns();
        one.run(1);
        quick = bench::now_ns() - start < one.quick_ns ? quick + 1 : 0;
    }
}

/// A loop of calls to a worker that is awake, whosever it is: waking it is no part of a call.
bench::loop awake(const bench::peer& one) {
    return [one](std::uint64_t count) {
        one.begin();
        wake(one);
        const std::int64_t start = bench::now_ns();
        one.run(count);
        const std::int64_t taken = bench::now_ns() - start;
        one.end();
        return taken;
    };
}

/// A call by flags is two signals.
bench::loop signal_probe() {
    const bench::loop calls = awake(bench::bare_flags());
    return [calls](std::uint64_t count) { return calls(count) / 2; };
}

contest one_call(selion::world& world, const char* name, worker_kind kind,
                 const bench::peer_list& peers) {
    const pool_pointer pool = make_pool(world, kind);
    const auto call = [pool](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) pool->call(nothing).wait();
    };
    contest made{name, {{"selion", awake({"selion", call})}}, 1, true};
    const auto async = [](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) std::async(std::launch::async, [] {}).wait();
    };
    made.contestants.push_back({"bare flags", awake(bench::bare_flags())});
    for (const bench::peer& one : peers.waiting) {
        made.contestants.push_back({one.name, awake(one)});
    }
    made.contestants.push_back({"std::async", bench::on_first(world, async)});
    return made;
}

contest many_calls(selion::world& world, const char* name, worker_kind kind,
                   const bench::peer_list& peers) {
    const pool_pointer pool = make_pool(world, kind);
    const auto calls = [pool](std::uint64_t count) {
        std::vector<selion::routine_call<>> last;
        last.reserve(under_way);
        for (std::uint64_t i = 0; i < under_way && i < count; ++i) {
            last.push_back(pool->call(nothing));
        }
        for (std::uint64_t i = under_way; i < count; ++i) {
            selion::routine_call<>& oldest = last[i % under_way];
            oldest.wait();
            oldest = pool->call(nothing);
        }
        pool->wait_all();
    };
    contest made{name, {{"selion", awake({"selion", calls})}}};
    for (const bench::peer& one : peers.streaming) {
        made.contestants.push_back({one.name, awake(one)});
    }
    return made;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::settings how = bench::parse_settings(argc, argv, {.rounds = 15, .only = {}});
    return selion::run(argc, argv, {.machine = "threads:1"}, [&](selion::world& world) {
        if (world.size() != 1 || !world.machine().capabilities.real_time) {
            if (world.rank() == 0) {
                std::fprintf(stderr,
                             "bench_offload runs on one rank, not on %s; set SELION_MACHINE to "
                             "threads:1\n",
                             world.machine().spec.c_str());
            }
            return 2;
        }
        const bench::peer_list peers = bench::peers();
        const std::vector<contest> contests{
            one_call(world, "call and wait, thread", worker_kind::thread, peers),
            one_call(world, "call and wait, process", worker_kind::process, peers),
            many_calls(world, "calls in a stream, thread", worker_kind::thread, peers),
            many_calls(world, "calls in a stream, process", worker_kind::process, peers)};
        measure(world, contests, signal_probe(), how);
        return 0;
    });
}
