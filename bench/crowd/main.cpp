// SPDX-License-Identifier: Apache-2.0
// Many ranks on few cores: the barrier of Selion, and those of as many threads or processes.
#include <sched.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "harness/contest.hpp"

namespace {

struct alignas(128) counter_line {
    std::uint64_t arrivals;
};

/// A central counter that is never reset; who waits lets others run.
void spin_and_yield(std::uint64_t& arrivals, std::uint64_t goal) {
    std::atomic_ref counter(arrivals);
    if (counter.fetch_add(1, std::memory_order_acq_rel) + 1 == goal) return;
    while (counter.load(std::memory_order_acquire) < goal) sched_yield();
}

/// Times `count` calls of a barrier by as many threads as there are ranks, free to use all cores,
/// while no rank runs: rank 0 waits for them, and the warm-up outlasts the patience of the others.
/// @param make_wait returns, for one thread, a function that waits once.
template <class MakeWait>
std::int64_t time_threads(std::uint32_t threads, std::uint64_t count, const cpu_set_t& cores,
                          MakeWait make_wait) {
    constexpr std::int64_t warm_up_ns = 5'000'000;
    std::atomic<std::int64_t> longest_ns{0};
    std::atomic<bool> is_warm{false};
    const auto body = [&](bool leads) {
        sched_setaffinity(0, sizeof cores, &cores);
        auto wait = make_wait();
        const std::int64_t begin = bench::now_ns();
        for (bool ready = false; !ready;) {
            if (leads && bench::now_ns() - begin > warm_up_ns) is_warm = true;
            wait();
            ready = is_warm;  // all read it between two barriers, so that all read the same
            wait();
        }
        const std::int64_t start = bench::now_ns();
        for (std::uint64_t i = 0; i < count; ++i) wait();
        if (leads) longest_ns = bench::now_ns() - start;
    };
    std::vector<std::jthread> all;
    for (std::uint32_t i = 0; i < threads; ++i) all.emplace_back(body, i == 0);
    all.clear();
    return longest_ns;
}

/// A contestant that runs in threads of its own, started by rank 0.
template <class MakeWait>
bench::loop by_threads(const selion::world& world, const cpu_set_t& cores, MakeWait make_wait) {
    return [=, leads = world.rank() == 0, ranks = world.size()](std::uint64_t count) {
        return leads ? time_threads(ranks, count, cores, make_wait(ranks)) : std::int64_t{0};
    };
}

auto standard_barrier(std::uint32_t threads) {
    auto shared = std::make_shared<std::barrier<>>(threads);
    return [shared] { return [shared] { shared->arrive_and_wait(); }; };
}

auto yielding_barrier(std::uint32_t threads) {
    auto shared = std::make_shared<counter_line>();
    return [shared, threads] {
        return [shared, threads, goal = std::uint64_t{0}]() mutable {
            spin_and_yield(shared->arrivals, goal += threads);
        };
    };
}

bench::contest barrier_contest(selion::world& world, const cpu_set_t& cores) {
    bench::contest all{"barrier", {}};
    all.contestants.push_back({"selion", bench::on_all([&world](std::uint64_t count) {
                                   for (std::uint64_t i = 0; i < count; ++i) world.barrier();
                               })});
    if (world.machine().processes > 1) {
        const auto line = selion::allocate<counter_line>(world, 1).on(0);
        all.contestants.push_back(
            {"spin and yield",
             bench::on_all([arrivals = &line.local()->arrivals, ranks = world.size(),
                            goal = std::uint64_t{0}](std::uint64_t count) mutable {
                 for (std::uint64_t i = 0; i < count; ++i) {
                     spin_and_yield(*arrivals, goal += ranks);
                 }
             })});
        return all;
    }
    all.contestants.push_back({"std::barrier", by_threads(world, cores, standard_barrier)});
    all.contestants.push_back({"spin and yield", by_threads(world, cores, yielding_barrier)});
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    // Equal blocks for all: the ranks start one after another, and that is part of each block.
    const bench::settings how = bench::parse_settings(
        argc, argv, {.rounds = 15, .blocks = 24, .iterations = 16, .only = {}});
    cpu_set_t cores;  // all: the ranks' own threads may be bound
    sched_getaffinity(0, sizeof cores, &cores);
    return selion::run(argc, argv, {.machine = "threads:64"}, [&](selion::world& world) {
        bench::measure(world, {barrier_contest(world, cores)}, {}, how);
    });
}
