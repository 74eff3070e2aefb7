// SPDX-License-Identifier: Apache-2.0
/// What lies in workers' memory, beside their calls.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "spmd.hpp"

namespace {

using selion::worker_kind;
using selion::worker_pool;

/// @return 0: the host has kept it waiting for too long.
const selion::routine until_raised{"until_raised", [](std::span<std::int32_t> flag) {
                                       const std::atomic_ref raised(flag.front());
                                       const auto end = std::chrono::steady_clock::now() +
                                                        std::chrono::seconds(20);
                                       while (raised.load() == 0) {
                                           if (std::chrono::steady_clock::now() > end) return 0;
                                           usleep(100);
                                       }
                                       return 1;
                                   }};
const selion::routine lengths{"lengths", [](std::span<const std::byte> in, std::span<double> out) {
                                  return std::uint64_t{in.size() + out.size()};
                              }};

SPMD_TEST(worker_pool, an_array_is_read_before_calls_begin_that_wait) {
    if (world.rank() != 0 || !world.machine().capabilities.real_time) return;
    for (const worker_kind kind : {worker_kind::thread, worker_kind::process}) {
        worker_pool pool({.workers = 1, .kind = kind, .shared_bytes = 1 << 12, .depth = 1});
        auto array = pool.allocate<std::int32_t>(0, 3);
        array.write(0, std::vector<std::int32_t>{1, 2, 3});
        const auto flags = pool.shared_array<std::int32_t>(2);
        auto first = pool.call(until_raised, flags.first(1));
        auto waits = pool.call(until_raised, flags.last(1));
        std::atomic_ref(flags[0]).store(1);
        std::vector<std::int32_t> back(3);
        array.read(0, back);
        test.equal(back, std::vector<std::int32_t>{1, 2, 3});
        std::atomic_ref(flags[1]).store(1);
        test.equal(first.get(), 1);
        test.equal(waits.get(), 1);
    }
}

SPMD_TEST(worker_pool, spans_of_nothing_need_no_memory) {
    constexpr std::uint64_t memory_bytes = 1 << 12;
    for (const worker_kind kind : {worker_kind::thread, worker_kind::process, worker_kind::rank}) {
        const bool is_local = kind != worker_kind::rank;
        if (is_local && (world.rank() != 0 || !world.machine().capabilities.real_time)) continue;
        if (!is_local && world.size() < 2) continue;
        worker_pool pool(world, {.workers = 1, .kind = kind, .memory_bytes = memory_bytes});
        if (!pool.is_host()) continue;
        const auto all = pool.allocate<std::byte>(0, memory_bytes);
        const std::vector<std::byte> in;
        std::vector<double> out;
        test.equal(pool.call(lengths, in, selion::out(out)).get(), std::uint64_t{0});
        test.equal(pool.call(lengths, all, selion::in_out(out)).get(), memory_bytes);
    }
}

}  // namespace
