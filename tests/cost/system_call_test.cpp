// SPDX-License-Identifier: Apache-2.0
/// Operations on mapped memory, and waits that last for moments only, need nothing of the kernel.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "conformance/memory_parts.hpp"
#include "cost/system_call_watch.hpp"

namespace {

using cost::system_call_watch;

bool can_watch(spmd::test_run& test, selion::world& world) {
    const bool can = system_call_watch::prepare();
    if (world.all_reduce(can ? 1 : 0, selion::minimum) == 1) return true;
    test.skip("system calls cannot be watched here");
    return false;
}

SPMD_TEST(system_calls, the_watch_sees_them) {
    if (!can_watch(test, world)) return;
    system_call_watch::start();
    const pid_t parent = getppid();
    const uid_t user = getuid();
    const auto calls = system_call_watch::stop();
    test.equal(std::vector(calls.begin(), calls.end()), std::vector<long>{SYS_getppid, SYS_getuid});
    test.equal(parent, getppid());
    test.equal(user, getuid());
    system_call_watch::start();
    test.equal(system_call_watch::stop().size(), 0U);
}

template <class Operation>
void expect_no_calls(spmd::test_run& test, const char* name, Operation operation) {
    system_call_watch::start();
    for (std::uint32_t i = 0; i < 1000; ++i) operation(i);
    const auto calls = system_call_watch::stop();
    if (!calls.empty()) test.fail(fmt::format("{} makes system call {}", name, calls.front()));
}

SPMD_TEST(system_calls, none_in_one_sided_operations) {
    if (!can_watch(test, world)) return;
    spmd::symmetric_array<std::uint64_t> cells(world, 512);
    spmd::symmetric_array<selion::signal> bell(world, 1);
    std::array<std::uint64_t, 512> buffer{};
    const auto there = cells.at(test.neighbour());
    expect_no_calls(test, "put", [&](std::uint64_t i) { selion::put(there, i); });
    expect_no_calls(test, "get", [&](std::uint32_t) { static_cast<void>(selion::get(there)); });
    expect_no_calls(test, "put of a span", [&](std::uint32_t) {
        selion::put(there, std::span<const std::uint64_t>(buffer));
    });
    expect_no_calls(test, "get of a span",
                    [&](std::uint32_t) { selion::get(std::span(buffer), there); });
    expect_no_calls(test, "fetch_add", [&](std::uint64_t i) { selion::fetch_add(there, i); });
    expect_no_calls(test, "compare_swap",
                    [&](std::uint64_t i) { selion::compare_swap(there, i, i + 1); });
    // One may have fallen asleep that is to be woken, and nothing else needs the kernel.
    system_call_watch::start();
    for (std::uint64_t i = 0; i < 1000; ++i) {
        selion::put_signal(there, i, bell.at(test.neighbour()), selion::signal_add(1));
    }
    for (const long call : system_call_watch::stop()) test.equal(call, long{SYS_futex});
    expect_no_calls(test, "a wait for what has arrived",
                    [&](std::uint32_t) { selion::wait_until(bell.own(), 0); });
    expect_no_calls(test, "fence and quiet", [&](std::uint32_t) {
        selion::fence();
        selion::quiet();
    });
    world.barrier();
}

/// Whether `operation`, which waits for others, gets by without the kernel: it must in some batch,
/// on all ranks at once, as soon as the host lets all of their threads run at the same time.
template <class Operation>
void expect_none_in_some_batch(spmd::test_run& test, selion::world& world, const char* name,
                               Operation operation) {
    constexpr std::int64_t patience_ns = 60'000'000'000;
    const std::int64_t start_ns = world.now();
    std::int64_t passed_ns = 0;
    while (passed_ns < patience_ns) {
        world.barrier();
        system_call_watch::start();
        for (std::uint32_t i = 0; i < 20; ++i) operation();
        const bool is_clean = system_call_watch::stop().empty();
        if (world.all_reduce(is_clean ? 1 : 0, selion::minimum) == 1) return;
        passed_ns = world.broadcast(world.now() - start_ns, 0);
    }
    test.fail(fmt::format("{} makes system calls in every batch", name));
}

bool has_a_core_for_each_thread(spmd::test_run& test, const selion::world& world) {
    if (world.machine().carriers <= selion::usable_cores()) return true;
    test.skip("more threads than cores");
    return false;
}

SPMD_TEST(system_calls, none_in_signals_and_waits_that_end_soon) {
    if (!can_watch(test, world) || !has_a_core_for_each_thread(test, world)) return;
    spmd::symmetric_array<selion::signal> bell(world, 1);
    std::uint64_t round = 0;
    expect_none_in_some_batch(test, world, "barrier", [&] { world.barrier(); });
    expect_none_in_some_batch(test, world, "all_reduce",
                              [&] { static_cast<void>(world.all_reduce(1, selion::plus)); });
    // Between two threads and no more: a call may have to wait for a third rank's turn.
    if (world.size() <= 2) {
        expect_none_in_some_batch(test, world, "a call", [&] {
            selion::rpc(test.neighbour(), [](int x) { return x; }, 1).wait();
            world.sync();
        });
    }
    // A wake where the neighbour has fallen asleep.
    spmd::symmetric_array<std::uint64_t> cells(world, 1);
    spmd::symmetric_array<selion::signal> unheard(world, 1);
    expect_none_in_some_batch(test, world, "put_signal", [&] {
        selion::put_signal(cells.at(test.neighbour()), 1, unheard.at(test.neighbour()),
                           selion::signal_add(1));
    });
    expect_none_in_some_batch(test, world, "a ring of signals", [&] {
        selion::notify(bell.at(test.neighbour()), selion::signal_set(++round));
        selion::wait_until(bell.own(), round);
        world.sync();
    });
}

/// Rank 0 sends one message while rank 1's threads sleep: each round at most one call, a wake, and
/// one in some round, for on a busy host they may be found awake.
template <class Pause>
void expect_one_wake(spmd::test_run& test, selion::world& world, const char* target, Pause pause) {
    constexpr auto long_asleep = std::chrono::milliseconds(20);
    std::size_t most = 0;
    for (int round = 0; round < 10; ++round) {
        world.barrier();
        if (world.rank() == 1) {
            pause(2 * long_asleep);
            continue;
        }
        std::this_thread::sleep_for(long_asleep);
        system_call_watch::start();
        selion::rpc_oneway(1, [] {});
        const auto calls = system_call_watch::stop();
        most = std::max(most, calls.size());
        for (const long call : calls) test.equal(call, long{SYS_futex});
    }
    world.barrier();
    if (world.rank() == 0 && most != 1) {
        test.fail(fmt::format("a message to a rank that {} makes up to {} calls", target, most));
    }
}

SPMD_TEST(system_calls, one_for_a_message_to_threads_that_sleep) {
    if (world.progress() != selion::progress_kind::interrupt || world.size() != 2) {
        test.skip("for two ranks that messages interrupt");
        return;
    }
    if (!can_watch(test, world)) return;
    expect_one_wake(test, world, "computes", [](auto time) { std::this_thread::sleep_for(time); });
    expect_one_wake(test, world, "waits", [](auto) {});
}

}  // namespace
