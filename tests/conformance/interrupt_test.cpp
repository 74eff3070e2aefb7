// SPDX-License-Identifier: Apache-2.0
/// With progress by interrupts a rank that computes and never calls keeps nobody waiting.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "conformance/spmd.hpp"

namespace {

constexpr std::size_t long_elements = std::size_t{1} << 15;

SPMD_TEST(interrupt, what_is_wanted_of_a_rank_that_computes_is_done) {
    if (world.progress() != selion::progress_kind::interrupt ||
        !world.machine().capabilities.real_time) {
        return test.skip("it waits for calls here");
    }
    if (world.machine().carriers < world.size()) {
        return test.skip("a rank that never calls keeps those of its thread from asking");
    }
    const auto cells = selion::allocate<std::uint64_t>(world, long_elements + world.size());
    const auto count = selion::allocate<std::uint64_t>(world, 1);
    std::vector<std::uint64_t> back(long_elements);
    cells.local()[1] = world.rank() + 5;
    for (std::uint32_t turn = 0; turn < world.size(); ++turn) {
        world.barrier();
        if (turn == world.rank()) {
            const std::atomic_ref own(*count.local());
            while (own.load(std::memory_order_acquire) < world.size() - 1) sched_yield();
            continue;
        }
        test.equal(selion::get((cells + 1).on(turn)), std::uint64_t{turn} + 5);
        selion::get(std::span(back), cells.on(turn));
        test.equal(back[1], std::uint64_t{turn} + 5);
        // Behind what others read meanwhile.
        selion::put((cells + long_elements + world.rank()).on(turn), std::uint64_t{1});
        selion::quiet();
        selion::fetch_add(count.on(turn), std::uint64_t{1});
    }
    world.barrier();
    selion::deallocate(world, count);
    selion::deallocate(world, cells);
}

/// A wait of one thread must not take from another one, which sleeps, what is to wake it.
SPMD_TEST(interrupt, a_thread_that_comes_and_goes_lets_the_others_be_woken) {
    using std::chrono::milliseconds;
    if (world.progress() != selion::progress_kind::interrupt ||
        !world.machine().capabilities.real_time ||
        world.thread_level() != selion::thread_level::multiple ||
        world.machine().carriers < world.size() || world.size() == 1) {
        return test.skip("no two threads of a rank sleep until a message comes");
    }
    if (world.rank() == 0) {
        const auto takes_long = [](int value) {
            std::this_thread::sleep_for(milliseconds(200));
            return value;
        };
        auto slow = selion::rpc(1, takes_long, 7);
        std::jthread other([&world] {
            const selion::rank_scope scope(world);
            for (int i = 0; i < 4; ++i) {
                std::this_thread::sleep_for(milliseconds(20));
                auto quick = selion::rpc(1, [] {});
                static_cast<void>(quick.wait(milliseconds(2)));  // too soon: 1 is busy
            }
        });
        test.that(slow.wait(std::chrono::seconds(60)), "the answer wakes who waits for it");
    }
    world.barrier();
}

/// Counts that others raise by messages alone, which its own thread or another one handles.
struct tally {
    std::uint64_t by_handlers;
    std::uint64_t by_continuation;
};

using counter_of = std::uint64_t tally::*;

void raise(selion::global_ptr<tally> own, counter_of which) {
    std::atomic_ref(own.local()->*which).fetch_add(1, std::memory_order_relaxed);
}

bool has_come(tally& own, std::uint64_t count) {
    return std::atomic_ref(own.by_handlers).load(std::memory_order_relaxed) == count &&
           std::atomic_ref(own.by_continuation).load(std::memory_order_relaxed) == count;
}

/// While a rank computes, its handlers run on one thread and its continuations on another. Both may
/// have more to send than there is room for.
SPMD_TEST(interrupt, handlers_and_a_continuation_send_at_the_same_time) {
    using std::chrono::milliseconds;
    if (world.progress() != selion::progress_kind::interrupt ||
        !world.machine().capabilities.real_time || world.machine().carriers < world.size() ||
        world.size() < 3) {
        return test.skip("no two threads of a rank send to a third one that is busy");
    }
    constexpr std::uint64_t messages = 2000;
    constexpr std::uint64_t at_once = 10;
    static constexpr selion::rank_id busy = 2;
    const auto counts = selion::allocate<tally>(world, 1);
    selion::team pair = world.split(world.rank() < busy ? 0 : 1);
    const selion::global_ptr<tally> there = counts.on(busy);
    world.barrier();
    if (world.rank() == 0) {
        const auto send_all = [there](std::uint64_t) {
            for (std::uint64_t i = 0; i < messages; ++i) {
                selion::rpc_oneway(busy, raise, there, &tally::by_continuation);
            }
        };
        auto sent = pair.split_phase().all_reduce(std::uint64_t{1}, selion::plus).then(send_all);
        std::this_thread::sleep_for(milliseconds(150));  // it computes
        sent.get();
    } else if (world.rank() == 1) {
        selion::rpc_oneway(busy, [] { std::this_thread::sleep_for(milliseconds(100)); });
        std::this_thread::sleep_for(milliseconds(10));
        auto sum = pair.split_phase().all_reduce(std::uint64_t{1}, selion::plus);
        const auto relay = [](selion::global_ptr<tally> to) {
            for (std::uint64_t i = 0; i < at_once; ++i) {
                selion::rpc_oneway(busy, raise, to, &tally::by_handlers);
            }
        };
        for (std::uint64_t i = 0; i < messages / at_once; ++i) selion::rpc_oneway(0, relay, there);
        sum.get();
    } else if (world.rank() == busy) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!has_come(*counts.local(), messages) && std::chrono::steady_clock::now() < end) {
            selion::progress();
        }
        test.that(has_come(*counts.local(), messages), "every message has come, once");
    }
    world.barrier();
    selion::deallocate(world, counts);
}

/// The rank goes to sleep while the notifier runs a handler that sends more than there is room for.
SPMD_TEST(interrupt, what_a_handler_could_not_send_leaves_though_its_rank_sleeps) {
    if (world.progress() != selion::progress_kind::interrupt ||
        !world.machine().capabilities.real_time) {
        return test.skip("a rank's own calls run its handlers here");
    }
    if (world.size() < 2 || world.machine().carriers < world.size()) {
        return test.skip("ranks take turns here");
    }
    using namespace std::chrono_literals;
    static std::atomic<bool> has_begun;
    static std::atomic<int> taken;
    constexpr int messages = 2;
    has_begun = false;
    taken = 0;
    const auto go = selion::allocate<selion::signal>(world, 1);
    world.barrier();
    if (world.rank() == 0) {
        while (!has_begun) sched_yield();
        selion::wait_until(go, 1);
    } else if (world.rank() == 1) {
        selion::rpc_oneway(0, [] {
            has_begun = true;
            std::this_thread::sleep_for(50ms);  // its rank sleeps
            const std::vector<std::uint64_t> data(3 << 17);
            const auto take = [](std::span<const std::uint64_t>) {
                std::this_thread::sleep_for(50ms);  // the second one finds no room
                ++taken;
            };
            for (int i = 0; i < messages; ++i) selion::rpc_oneway(1, take, std::span(data));
        });
        while (taken < messages) selion::progress();
        selion::notify(go.on(0), selion::signal_set(1));
    }
    world.barrier();
    selion::deallocate(world, go);
}

}  // namespace
