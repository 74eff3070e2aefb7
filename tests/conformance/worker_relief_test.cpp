// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "spmd.hpp"

/// Calls that have been sent to a worker which is busy for long, while another one has nothing to
/// do. Who waits in a routine gives up in the end, so that a failure is none to wait for.
namespace {

using selion::routine_call;
using selion::worker_kind;
using selion::worker_pool;

bool are_set(std::span<std::int32_t> flags) {
    return std::ranges::all_of(
        flags, [](std::int32_t& each) { return std::atomic_ref(each).load() != 0; });
}

bool await_all(std::span<std::int32_t> flags) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!are_set(flags) && std::chrono::steady_clock::now() < end) usleep(100);
    return are_set(flags);
}

const selion::routine await_flags{
    "await_flags", [](std::span<std::int32_t> flags) { return await_all(flags) ? 1 : 0; }};
const selion::routine die_after_flags{"die_after_flags", [](std::span<std::int32_t> flags) {
                                          await_all(flags);
                                          _exit(3);
                                      }};
const selion::routine set_flag{"set_flag", [](std::span<std::int32_t> flags, std::int32_t which) {
                                   std::atomic_ref(flags[static_cast<std::size_t>(which)]).store(1);
                               }};
const selion::routine count_from{"count_from",
                                 [](std::int32_t first, std::span<std::int32_t> numbers) {
                                     std::iota(numbers.begin(), numbers.end(), first);
                                     return std::accumulate(numbers.begin(), numbers.end(), 0L);
                                 }};

/// Runs a body with pools of two workers that are threads or processes, made by a rank or not.
template <class Body>
void with_two_workers(spmd::test_run& test, selion::world& world,
                      std::initializer_list<worker_kind> kinds, Body body) {
    if (world.rank() != 0 || !world.machine().capabilities.real_time) return;
    for (const worker_kind kind : kinds) {
        for (const std::uint32_t depth : {2u, 4u}) {
            const selion::worker_pool_options options{.workers = 2,
                                                      .kind = kind,
                                                      .memory_bytes = 1 << 20,
                                                      .shared_bytes = 1 << 12,
                                                      .depth = depth};
            std::optional<worker_pool> pool;
            if (depth == 2) pool.emplace(options);
            if (depth == 4) pool.emplace(world, options);
            try {
                body(*pool);
            } catch (const std::exception& trouble) {
                test.fail(std::string("unexpected: ") + trouble.what());
            }
        }
    }
}

constexpr std::initializer_list<worker_kind> local_kinds{worker_kind::thread, worker_kind::process};

std::string end_of(auto& call) {
    try {
        call.wait();
    } catch (const selion::error& trouble) {
        return trouble.what();
    }
    return "done";
}

SPMD_TEST(worker_relief, a_call_may_wait_for_those_behind_it) {
    with_two_workers(test, world, local_kinds, [&](worker_pool& pool) {
        const std::span<std::int32_t> flags = pool.shared_array<std::int32_t>(7);
        auto waits = pool.call(await_flags, flags);
        std::vector<routine_call<>> others;
        for (std::int32_t i = 0; i < 7; ++i) others.push_back(pool.call(set_flag, flags, i));
        test.equal(waits.get(), 1);
        pool.wait_all();
        test.equal(pool.counts().calls, std::uint64_t{8});
        test.equal(pool.counts().failed, std::uint64_t{0});
    });
}

SPMD_TEST(worker_relief, a_host_that_only_asks_moves_calls_as_well) {
    with_two_workers(test, world, local_kinds, [&](worker_pool& pool) {
        const std::span<std::int32_t> flags = pool.shared_array<std::int32_t>(3);
        auto waits = pool.call(await_flags, flags);
        std::vector<routine_call<>> others;
        for (std::int32_t i = 0; i < 3; ++i) others.push_back(pool.call(set_flag, flags, i));
        while (!waits.is_done()) {
        }
        test.equal(waits.get(), 1);
    });
}

SPMD_TEST(worker_relief, what_calls_bring_along_moves_with_them) {
    with_two_workers(test, world, local_kinds, [&](worker_pool& pool) {
        const std::span<std::int32_t> flags = pool.shared_array<std::int32_t>(1);
        auto waits = pool.call(await_flags, flags);
        constexpr std::int32_t count = 7;
        std::vector<std::vector<std::int32_t>> numbers(count, std::vector<std::int32_t>(5000, -1));
        std::vector<routine_call<long>> sums;
        for (std::int32_t i = 0; i < count; ++i) {
            sums.push_back(pool.call(count_from, i, selion::out(numbers[std::size_t(i)])));
        }
        for (std::int32_t i = 0; i < count; ++i) {
            test.equal(sums[std::size_t(i)].get(), 5000L * i + 5000L * 4999 / 2);
            test.equal(numbers[std::size_t(i)].front(), i);
            test.equal(numbers[std::size_t(i)].back(), i + 4999);
        }
        test.that(!waits.is_done(), "the long one still runs");
        pool.call({.worker = sums.back().worker()}, set_flag, flags, 0).wait();
        test.equal(waits.get(), 1);
    });
}

SPMD_TEST(worker_relief, calls_behind_long_ones_can_be_given_up) {
    using namespace std::chrono_literals;
    with_two_workers(test, world, local_kinds, [&](worker_pool& pool) {
        const std::span<std::int32_t> flags = pool.shared_array<std::int32_t>(2);
        auto first = pool.call(await_flags, flags.first(1));
        auto second = pool.call(await_flags, flags.last(1));
        auto late = pool.call({.timeout = 2ms}, set_flag, flags, 1);
        auto cancelled = pool.call(set_flag, flags, 1);
        cancelled.cancel();
        test.that(end_of(late).find("was not done within its time") != std::string::npos, "late");
        std::atomic_ref(flags[0]).store(1);
        test.equal(first.get(), 1);
        // What is left for the worker that has nothing to do is not of those that were given up.
        test.that(!second.wait(20ms), "nobody has set its flag");
        auto last = pool.call(set_flag, flags, 1);
        test.equal(second.get(), 1);
        test.equal(end_of(last), std::string("done"));
        const std::string told = end_of(cancelled);
        test.that(told.find("was cancelled before a worker had begun it") != std::string::npos,
                  told);
        test.equal(pool.counts().replaced, std::uint64_t{0});
    });
}

SPMD_TEST(worker_relief, a_worker_dies_whose_calls_others_have_taken) {
    with_two_workers(test, world, {worker_kind::process}, [&](worker_pool& pool) {
        const std::span<std::int32_t> flags = pool.shared_array<std::int32_t>(7);
        auto dying = pool.call(die_after_flags, flags);
        std::vector<routine_call<>> others;
        for (std::int32_t i = 0; i < 7; ++i) others.push_back(pool.call(set_flag, flags, i));
        const std::string told = end_of(dying);
        test.that(told.find("while it ran routine \"die_after_flags\"") != std::string::npos, told);
        for (routine_call<>& each : others) test.equal(end_of(each), std::string("done"));
        std::vector<std::int32_t> numbers(100);
        test.equal(pool.call({.worker = 0}, count_from, 1, selion::out(numbers)).get(), 5050L);
        test.equal(pool.counts().replaced, std::uint64_t{1});
    });
}

}  // namespace
