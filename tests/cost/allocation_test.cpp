// SPDX-License-Identifier: Apache-2.0
/// After start-up the data path asks for no memory, and takes no lock.
#include <fmt/format.h>

#include <array>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <thread>

#include "conformance/memory_parts.hpp"
#include "cost/counted_allocations.hpp"
#include "cost/counted_locks.hpp"

namespace {

constexpr std::uint32_t repetitions = 200;

/// Runs `operation` once to warm up, then counts.
template <class Operation>
void expect_none(spmd::test_run& test, const char* name, Operation operation) {
    operation(0);
    const std::uint64_t allocations = cost::allocations_of_this_thread();
    const std::uint64_t locks = cost::locks_of_this_thread();
    for (std::uint32_t i = 1; i <= repetitions; ++i) operation(i);
    const auto expect_as_before = [&](std::uint64_t now, std::uint64_t before, const char* does) {
        if (now == before) return;
        test.fail(fmt::format("{} {} {} times in {} calls", name, does, now - before, repetitions));
    };
    expect_as_before(cost::allocations_of_this_thread(), allocations, "allocates");
    expect_as_before(cost::locks_of_this_thread(), locks, "takes a lock");
}

SPMD_TEST(allocations, the_counter_counts) {
    const std::uint64_t before = cost::allocations_of_this_thread();
    // Called as functions, because compilers may leave out a `new` whose memory nobody uses.
    ::operator delete(::operator new(10));
    ::operator delete[](::operator new[](10));
    ::operator delete(::operator new(10, std::nothrow));
    constexpr std::align_val_t line{128};
    ::operator delete(::operator new(10, line), line);
    test.equal(cost::allocations_of_this_thread() - before, 4u);
}

SPMD_TEST(locks, the_counter_counts) {
    std::mutex one;
    std::shared_mutex many;
    const std::uint64_t before = cost::locks_of_this_thread();
    { const std::lock_guard lock(one); }
    if (one.try_lock()) one.unlock();
    { const std::unique_lock lock(many); }
    { const std::shared_lock lock(many); }
    test.equal(cost::locks_of_this_thread() - before, 4u);
}

SPMD_TEST(allocations, none_in_one_sided_operations) {
    spmd::symmetric_array<std::uint64_t> cells(world, 4096);
    spmd::symmetric_array<selion::signal> bell(world, 1);
    std::array<std::uint64_t, 4096> buffer{};
    for (std::uint32_t d = 0; d < std::min(world.size(), 3u); ++d) {
        const auto there = cells.at(test.neighbour(d));
        const auto their_bell = bell.at(test.neighbour(d));
        expect_none(test, "put of a value", [&](std::uint64_t i) { selion::put(there, i); });
        expect_none(test, "get of a value",
                    [&](std::uint32_t) { static_cast<void>(selion::get(there)); });
        expect_none(test, "put of a span", [&](std::uint32_t) {
            selion::put(there, std::span<const std::uint64_t>(buffer));
        });
        expect_none(test, "get of a span",
                    [&](std::uint32_t) { selion::get(std::span(buffer), there); });
        expect_none(test, "fetch_add", [&](std::uint64_t i) { selion::fetch_add(there, i); });
        expect_none(test, "compare_swap",
                    [&](std::uint64_t i) { selion::compare_swap(there, i, i + 1); });
        expect_none(test, "atomic_put and atomic_get", [&](std::uint64_t i) {
            selion::atomic_put(there, i);
            static_cast<void>(selion::atomic_get(there));
        });
        expect_none(test, "put_signal of a value", [&](std::uint64_t i) {
            selion::put_signal(there, i, their_bell, selion::signal_add(1));
        });
        expect_none(test, "put_signal of a span", [&](std::uint32_t) {
            selion::put_signal(there, std::span<const std::uint64_t>(buffer), their_bell,
                               selion::signal_add(1));
        });
        expect_none(test, "notify",
                    [&](std::uint32_t) { selion::notify(their_bell, selion::signal_add(1)); });
        expect_none(test, "fence and quiet", [&](std::uint32_t) {
            selion::fence();
            selion::quiet();
        });
        world.barrier();
    }
}

SPMD_TEST(allocations, none_in_operations_that_are_counted) {
    spmd::symmetric_array<std::uint64_t> cells(world, 512);
    spmd::symmetric_array<selion::counter> arrived(world, 1);
    std::array<std::uint64_t, 512> buffer{};
    selion::counter done;
    const auto there = cells.at(test.neighbour());
    expect_none(test, "put with counters", [&](std::uint32_t) {
        selion::put(there, std::span<const std::uint64_t>(buffer),
                    {.origin = &done, .target = arrived.at(test.neighbour()), .completion = &done});
        done.wait(2);
    });
    expect_none(test, "get with a counter", [&](std::uint32_t) {
        selion::get(std::span(buffer), there, done);
        done.wait(1);
    });
    expect_none(test, "store", [&](std::uint64_t i) { selion::store(there, i); });
    expect_none(test, "atomics of all kinds", [&](std::uint64_t i) {
        std::uint64_t before = 0;
        selion::fetch_add(&before, there, i, done);
        selion::atomic_max(there, i);
        done.wait(1);
    });
    world.barrier();
}

/// Where the target is mapped they hold their values themselves.
SPMD_TEST(allocations, none_in_operations_with_futures) {
    spmd::symmetric_array<std::uint64_t> cells(world, 512);
    std::array<std::uint64_t, 512> buffer{};
    const auto there = cells.at(test.neighbour());
    if (there.local() == nullptr) return test.skip("the neighbour's memory is not mapped");
    expect_none(test, "puts, gets and atomics as futures", [&](std::uint64_t i) {
        selion::put(there, i, selion::as_future).wait();
        selion::put(there, std::span<const std::uint64_t>(buffer), selion::as_future).wait();
        test.equal(selion::get(there, selion::as_future).get(), 0u);
        test.equal(selion::fetch_add(there, i, selion::as_future).get(), 0u);
    });
    world.barrier();
}

SPMD_TEST(allocations, none_in_short_messages_and_calls) {
    selion::counter done;
    for (int i = 0; i < 100; ++i) {  // states of futures are made once
        selion::rpc(test.neighbour(), [](int x) { return x; }, i).wait();
    }
    world.barrier();
    expect_none(test, "a message with a completion counter", [&](std::uint64_t i) {
        selion::send(test.neighbour(),
                     [](const std::uint64_t&, selion::message_info) { return selion::arrival{}; },
                     i, {}, {.completion = &done});
        done.wait(1);
    });
    expect_none(test, "a call and its result", [&](std::uint64_t i) {
        static_cast<void>(
            selion::rpc(test.neighbour(), [](std::uint64_t x) { return x + 1; }, i).get());
    });
    world.barrier();
}

/// Whoever lets go of a future: its state is used again when the answer has come.
SPMD_TEST(allocations, none_in_calls_whose_answers_nobody_wants) {
    const auto call = [&](std::uint64_t i) {
        static_cast<void>(selion::rpc(test.neighbour(), [](std::uint64_t x) { return x; }, i));
        test.equal(selion::rpc(test.neighbour(), [](std::uint64_t x) { return x; }, i).get(), i);
    };
    for (int i = 0; i < 10; ++i) call(0);
    world.barrier();
    expect_none(test, "a call whose future is let go", call);
    world.barrier();
}

/// States that a joined thread has had are those that the next calls have, however many there are.
SPMD_TEST(allocations, none_in_calls_of_threads_that_have_joined) {
    if (world.thread_level() != selion::thread_level::multiple) {
        return test.skip("the job's thread level is not multiple");
    }
    spmd::symmetric_array<selion::signal> finished(world, 1);
    std::jthread joined([&] {
        const selion::rank_scope scope(world);
        const auto call = [&](std::uint64_t i) {
            std::array<selion::future<std::uint64_t>, 5> answers;
            for (auto& one : answers) {
                one = selion::rpc(test.neighbour(), [](std::uint64_t x) { return x; }, i);
            }
            for (auto& one : answers) test.equal(one.get(), i);
        };
        for (int i = 0; i < 10; ++i) call(0);
        expect_none(test, "five calls at a time", call);
        selion::notify(finished.own(), selion::signal_add(1));
    });
    selion::wait_until(finished.own(), 1);
    joined.join();
    world.barrier();
}

SPMD_TEST(allocations, none_in_waits) {
    spmd::symmetric_array<selion::signal> bell(world, 2);
    expect_none(test, "a ring of signals", [&](std::uint64_t i) {
        selion::notify(bell.at(test.neighbour()), selion::signal_set(i + 1));
        selion::wait_until(bell.own(), i + 1);
        world.sync();
    });
    expect_none(test, "a wait that ends at its time", [&](std::uint32_t) {
        static_cast<void>(selion::wait_until(bell.own(1), 1, std::chrono::nanoseconds(1000)));
    });
}

SPMD_TEST(allocations, none_in_collectives) {
    std::array<double, 10'000> data{};
    expect_none(test, "barrier", [&](std::uint32_t) { world.barrier(); });
    expect_none(test, "sync", [&](std::uint32_t) { world.sync(); });
    expect_none(test, "broadcast of a value",
                [&](std::uint32_t i) { static_cast<void>(world.broadcast(i, i % world.size())); });
    expect_none(test, "all_reduce of a value",
                [&](std::uint32_t i) { static_cast<void>(world.all_reduce(i, selion::plus)); });
    for (std::uint32_t root = 0; root < world.size(); ++root) {  // memory to copy to is kept
        world.broadcast(std::span(data), root);
    }
    expect_none(test, "broadcast of a span", [&](std::uint32_t i) {
        if (i < 20) world.broadcast(std::span(data), i % world.size());
    });
    expect_none(test, "all_reduce of a span", [&](std::uint32_t i) {
        if (i < 20) world.all_reduce(std::span(data), selion::plus);
    });
}

}  // namespace
