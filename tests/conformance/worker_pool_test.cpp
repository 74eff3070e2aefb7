// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <thread>
#include <vector>

#include "spmd.hpp"

/// Procedure calls to workers of every kind that the machine has.
namespace {

using selion::in_out;
using selion::out;
using selion::routine_call;
using selion::worker_kind;
using selion::worker_pool;
using selion::worker_pool_options;

struct worker_place {
    std::int32_t row;
    std::int32_t column;
    double weight;
};

/// Without a default constructor.
struct worker_number {
    explicit worker_number(std::int32_t given) : value(given) {}
    std::int32_t value;
};

const selion::routine nothing{"nothing", [] {}};
const selion::routine twice{"twice", [](std::int64_t value) { return 2 * value; }};
const selion::routine sum{"sum", [](std::span<const std::int32_t> data) {
                              return std::accumulate(data.begin(), data.end(), std::int64_t{0});
                          }};
const selion::routine scale{"scale", [](double factor, std::span<double> data) {
                                for (double& each : data) each *= factor;
                            }};
const selion::routine iota{"iota", [](std::int32_t first, std::span<std::int32_t> data) {
                               std::iota(data.begin(), data.end(), first);
                           }};
const selion::routine mixed{
    "mixed", [](selion::worker& self, const worker_place& where, float& count, std::uint8_t& low,
                std::span<const worker_place> all) {
        count += static_cast<float>(where.column);
        low = static_cast<std::uint8_t>(all.size());
        return worker_place{where.row + 1, static_cast<int>(self.number()),
                            all.empty() ? 0 : all.back().weight};
    }};
const selion::routine complain{
    "complain", [](std::int32_t code) { throw std::out_of_range("code " + std::to_string(code)); }};
const selion::routine until_cancelled{"until_cancelled", [](selion::worker& self) {
                                          while (!self.is_cancelled()) {
                                          }
                                      }};
const selion::routine processors{"processors", [] {
                                     cpu_set_t allowed;
                                     sched_getaffinity(0, sizeof allowed, &allowed);
                                     return static_cast<std::uint32_t>(CPU_COUNT(&allowed));
                                 }};
const selion::routine next_number{"next_number",
                                  [](worker_number one) { return worker_number(one.value + 1); }};
const selion::routine who{"who", [](selion::worker& self) { return self.number(); }};

/// Runs a body on the host of a pool; the ranks of a pool of ranks serve meanwhile.
template <class Body>
void with_pool(spmd::test_run& test, selion::world& world, worker_pool_options options, Body body) {
    const bool is_local = options.kind != worker_kind::rank;
    if (is_local && (world.rank() != 0 || !world.machine().capabilities.real_time)) return;
    if (!is_local && world.size() < 2) return;
    if (!is_local) options.workers = std::min(*options.workers, world.size() - 1);
    try {
        worker_pool pool(world, options);
        if (pool.is_host()) body(pool);
    } catch (const std::exception& trouble) {
        test.fail(std::string("unexpected: ") + trouble.what());
    }
    // What a body left behind.
}

template <class Body>
void on_every_kind(spmd::test_run& test, selion::world& world, std::uint32_t workers, Body body) {
    for (const worker_kind kind : {worker_kind::thread, worker_kind::process, worker_kind::rank}) {
        with_pool(test, world, {.workers = workers, .kind = kind, .memory_bytes = 1 << 20}, body);
        world.barrier();
    }
}

/// The sentence of a call that is refused.
template <class Attempt>
std::string refusal(Attempt attempt) {
    try {
        attempt();
    } catch (const selion::error& trouble) {
        return trouble.what();
    }
    return "nothing was refused";
}

SPMD_TEST(worker_pool, runs_routines_and_brings_back_what_they_return) {
    on_every_kind(test, world, 2, [&](worker_pool& pool) {
        pool.call(nothing).wait();
        test.equal(pool.call(twice, 21).get(), 42);
        std::vector<std::int32_t> numbers(1000);
        std::iota(numbers.begin(), numbers.end(), 1);
        test.equal(pool.call(sum, numbers).get(), 500500);
        test.equal(pool.call(sum, std::span(numbers).first(0)).get(), 0);
    });
}

SPMD_TEST(worker_pool, workers_are_not_bound_where_their_host_is) {
    // Else both would wait for one processor, and a call take as long as the kernel lets one run.
    for (const worker_kind kind : {worker_kind::thread, worker_kind::process}) {
        with_pool(test, world, {.workers = 1, .kind = kind}, [&](worker_pool& pool) {
            test.that(pool.call(processors).get() >= selion::usable_cores(), "all are allowed");
        });
    }
}

SPMD_TEST(worker_pool, moves_spans_as_they_are_marked) {
    on_every_kind(test, world, 2, [&](worker_pool& pool) {
        std::vector<double> values(777, 1.5);
        pool.call(scale, 2.0, in_out(values)).wait();
        test.that(std::ranges::all_of(values, [](double each) { return each == 3.0; }), "scaled");
        std::vector<std::int32_t> counted(5000, -1);
        pool.call(iota, 10, out(counted)).wait();
        test.equal(counted.front(), 10);
        test.equal(counted.back(), 5009);
    });
}

SPMD_TEST(worker_pool, moves_structures_and_references) {
    on_every_kind(test, world, 2, [&](worker_pool& pool) {
        float count = 0.5F;
        std::uint8_t low = 0;
        const std::vector<worker_place> all{{1, 2, 3.0}, {4, 5, 6.5}};
        const worker_place back = pool.call({.worker = pool.size() - 1}, mixed,
                                            worker_place{7, 8, 9.0}, in_out(count), out(low), all)
                                      .get();
        test.equal(back.row, 8);
        test.equal(back.column, static_cast<std::int32_t>(pool.size() - 1));
        test.equal(back.weight, 6.5);
        test.equal(count, 8.5F);
        test.equal(low, 2);
    });
}

SPMD_TEST(worker_pool, exceptions_come_back) {
    on_every_kind(test, world, 2, [&](worker_pool& pool) {
        auto call = pool.call({.worker = 0}, complain, 17);
        try {
            call.wait();
            test.fail("no exception");
        } catch (const selion::routine_error& trouble) {
            test.equal(trouble.type_name(), std::string("std::out_of_range"));
            test.equal(std::string(trouble.what()),
                       std::string("routine \"complain\" on worker 0 ended with an exception of "
                                   "type std::out_of_range: code 17"));
        }
        test.equal(pool.call({.worker = 0}, twice, 2).get(), 4);
        test.equal(pool.counts().failed, 1U);
        test.equal(pool.call(next_number, worker_number(3)).get().value, 4);
    });
}

SPMD_TEST(worker_pool, many_calls_of_all_sizes_are_answered_once) {
    on_every_kind(test, world, 3, [&](worker_pool& pool) {
        const std::uint32_t count = test.rounds(1200, 40);
        std::vector<std::vector<std::int32_t>> data(count);
        std::vector<routine_call<std::int64_t>> calls;
        for (std::uint32_t i = 0; i < count; ++i) {
            data[i].assign(test.own_random()() % 3000, static_cast<std::int32_t>(i));
            calls.push_back(pool.call(sum, data[i]));
        }
        for (std::uint32_t i = count; i-- > 0;) {
            test.equal(calls[i].get(), static_cast<std::int64_t>(i * data[i].size()));
        }
        test.equal(pool.counts().calls, count);
    });
}

SPMD_TEST(worker_pool, calls_of_a_worker_keep_their_order_and_all_workers_work) {
    on_every_kind(test, world, 3, [&](worker_pool& pool) {
        std::vector<routine_call<std::uint32_t>> calls;
        for (std::uint32_t i = 0; i < 12; ++i) {
            calls.push_back(pool.call({.worker = i % pool.size()}, who));
        }
        pool.wait_all();
        for (std::uint32_t i = 0; i < 12; ++i) test.equal(calls[i].get(), i % pool.size());
        auto array = pool.allocate<double>(0, 100);
        std::vector<double> ones(100, 1.0);
        array.write(0, ones);
        std::vector<routine_call<>> doublings;
        for (int i = 0; i < 10; ++i) doublings.push_back(pool.call(scale, 2.0, array));
        array.read(0, ones);
        test.equal(ones[99], 1024.0);
        array.write(50, std::vector<double>(50, 3.0));
        array.read(0, ones);
        test.equal(ones[49] + ones[50], 1027.0);
    });
}

SPMD_TEST(worker_pool, bad_calls_get_a_sentence) {
    on_every_kind(test, world, 1, [&](worker_pool& pool) {
        const std::vector<std::int32_t> numbers(10);
        test.equal(refusal([&] { static_cast<void>(pool.call("summ", numbers)); }),
                   std::string("the workers' program has no routine \"summ\"; did you mean "
                               "\"sum\"?"));
        test.equal(refusal([&] { static_cast<void>(pool.call("twice")); }),
                   std::string("routine \"twice\" takes 1 arguments, (int64); the call has 0"));
        test.equal(refusal([&] { static_cast<void>(pool.call("twice", 2.5)); }),
                   std::string("argument 1 of routine \"twice\" is int64; the call has double"));
        const std::vector<double> read_only(2);
        test.equal(refusal([&] { static_cast<void>(pool.call("scale", 2.0, read_only)); }),
                   std::string("argument 2 of routine \"scale\" is span<double>; the call has "
                               "span<const double>"));
        test.equal(refusal([&] { static_cast<void>(pool.call<double>("sum", numbers)); }),
                   std::string("routine \"sum\" returns int64, not double"));
        test.equal(refusal([&] { static_cast<void>(pool.call({.worker = 7}, nothing)); }),
                   std::string("there is no worker 7; workers are 0 to 0"));
        auto call = pool.call(twice, 1);
        test.equal(refusal([&] { static_cast<void>(call.result()); }),
                   std::string("the result of routine \"twice\" is read before the call has been "
                               "waited for: call wait first, or get"));
        call.wait();
        test.equal(call.result(), 2);
        test.equal(pool.call<std::int64_t>("twice", std::int64_t{4}).get(), 8);
        test.equal(refusal([&] { static_cast<void>(pool.allocate<double>(0, 1 << 20)); }),
                   std::string("worker 0 has no room for 8 MiB: 0 B of 1 MiB are used"));
    });
}

SPMD_TEST(worker_pool, replicas_and_copies_between_workers) {
    on_every_kind(test, world, 3, [&](worker_pool& pool) {
        const std::vector<std::int32_t> numbers(2000, 3);
        {
            const auto everywhere = pool.replicate(numbers);
            std::vector<routine_call<std::int64_t>> calls;
            for (int i = 0; i < 9; ++i) calls.push_back(pool.call(sum, everywhere));
            for (auto& call : calls) test.equal(call.get(), 6000);
        }
        auto first = pool.allocate<std::int32_t>(0, 500);
        auto last = pool.allocate<std::int32_t>(pool.size() - 1, 500);
        static_cast<void>(pool.call(iota, 7, first));
        first.copy_to(last);
        std::vector<std::int32_t> read(500);
        last.read(0, read);
        test.equal(read.front(), 7);
        test.equal(read.back(), 506);
        test.equal(pool.call(twice, 4).get(), 8);
    });
}

SPMD_TEST(worker_pool, shares_work_out_in_chunks) {
    on_every_kind(test, world, 3, [&](worker_pool& pool) {
        const auto& machine = world.machine().capabilities;
        // Where time is virtual, all workers are ranks.
        if (machine.moves_idle_ranks_only && !machine.real_time) test.equal(pool.depth(), 1U);
        constexpr std::size_t total = 5000;
        std::vector<std::int32_t> numbers(total);
        std::vector<std::size_t> chunks;
        pool.share_out(total, 20, [&](std::size_t first, std::size_t count) {
            chunks.push_back(count);
            const std::span part = std::span(numbers).subspan(first, count);
            return pool.call(iota, static_cast<std::int32_t>(first), out(part));
        });
        test.equal(std::accumulate(chunks.begin(), chunks.end(), std::size_t{0}), total);
        for (std::size_t i = 0; i < total; ++i) {
            if (numbers[i] != static_cast<std::int32_t>(i)) return test.fail("an item is missing");
        }
        test.that(chunks.front() > chunks.back() && chunks[chunks.size() - 2] >= 20, "chunks");
        const std::string what = refusal([&] {
            pool.share_out(3, 1, [&](std::size_t first, std::size_t) {
                return pool.call(complain, static_cast<std::int32_t>(first));
            });
        });
        test.that(what.find("code ") != std::string::npos, what);  // of whichever ended first
    });
}

SPMD_TEST(worker_pool, chooses_chunks_by_what_calls_cost) {
    for (const worker_kind kind : {worker_kind::thread, worker_kind::process, worker_kind::rank}) {
        const worker_pool_options options{
            .workers = 3, .kind = kind, .memory_bytes = 1 << 20, .measures = true};
        with_pool(test, world, options, [&](worker_pool& pool) {
            constexpr std::size_t total = 3000;
            const std::uint32_t depth = pool.depth();
            std::vector<std::int32_t> numbers(total);
            const auto plan = pool.share_out(total, [&](std::size_t first, std::size_t count) {
                const std::span part = std::span(numbers).subspan(first, count);
                return pool.call(iota, static_cast<std::int32_t>(first), out(part));
            });
            std::vector<std::int32_t> wanted(total);
            std::iota(wanted.begin(), wanted.end(), 0);
            test.that(numbers == wanted, "all items");
            // An item is far less than a call, which a trial that was interrupted, or whose
            // messages came in another order, need not show.
            const bool is_steady = !world.machine().capabilities.real_time &&
                                   world.machine().spec.find("explore=") == std::string::npos;
            const std::size_t least = is_steady ? 2 : 1;
            test.that(plan.items >= least && plan.depth <= depth, "a plan");
            test.equal(pool.depth(), depth);
        });
        world.barrier();
    }
    with_pool(test, world, {.workers = 1}, [&](worker_pool& pool) {
        const std::string what = refusal([&] {
            pool.share_out(5, [&](std::size_t, std::size_t) { return pool.call(nothing); });
        });
        test.that(what.find("set measures") != std::string::npos, what);
    });
}

/// Each item takes a quarter of a millisecond of virtual time.
const selion::routine spend{
    "spend", [](std::span<const std::int32_t> items) {
        selion::charge(selion::nanoseconds(250'000 * static_cast<std::int64_t>(items.size())));
    }};

SPMD_TEST(worker_pool, chosen_chunks_are_about_as_quick_as_the_best) {
    if (world.machine().capabilities.real_time) return;
    const worker_pool_options options{.workers = 4, .kind = worker_kind::rank, .measures = true};
    with_pool(test, world, options, [&](worker_pool& pool) {
        const std::vector<std::int32_t> items(2000);
        const auto start = [&](std::size_t first, std::size_t count) {
            return pool.call(spend, std::span(items).subspan(first, count));
        };
        const auto time = [&](auto work) {
            const std::int64_t begin_ps = world.now_ps();
            work();
            return world.now_ps() - begin_ps;
        };
        const std::int64_t chosen_ps = time([&] { pool.share_out(items.size(), start); });
        std::int64_t best_ps = chosen_ps;
        for (std::size_t least = 1; least <= items.size() / 4; least *= 4) {
            const std::int64_t fixed_ps = time([&] { pool.share_out(items.size(), least, start); });
            best_ps = std::min(best_ps, fixed_ps);
        }
        // The first calls come one after another; and one plan may be luckier with delays that are
        // drawn.
        const bool draws_delays = world.machine().spec.find("explore=") != std::string::npos;
        test.that(chosen_ps <= best_ps + best_ps / (draws_delays ? 4 : 16),
                  "the chosen chunks take long");
    });
}

SPMD_TEST(worker_pool, calls_go_where_there_is_room_for_them) {
    on_every_kind(test, world, 2, [&](worker_pool& pool) {
        if (pool.size() < 2) return;
        constexpr std::size_t most = 1 << 18;  // elements that fill a worker's memory
        const std::vector<std::int32_t> half(most / 2, 1);
        auto kept = std::make_optional(pool.allocate<std::int32_t>(0, most / 4 * 3));
        std::vector<routine_call<std::int64_t>> calls;
        for (int i = 0; i < 4; ++i) calls.push_back(pool.call(sum, half));
        for (auto& call : calls) test.equal(call.get(), static_cast<std::int64_t>(most / 2));
        const std::string pinned = refusal([&] { pool.call({.worker = 0}, sum, half).wait(); });
        const auto also = pool.allocate<std::int32_t>(1, most / 4 * 3);
        const std::string any = refusal([&] { pool.call(sum, half).wait(); });
        // Threads read them where they lie.
        if (pinned != "nothing was refused") {
            test.that(pinned.find("do not fit in the memory of worker 0") != std::string::npos,
                      pinned);
            test.that(any.find("do not fit in the memory of worker") != std::string::npos, any);
        }
        kept.reset();
        test.equal(pool.call(sum, half).get(), static_cast<std::int64_t>(most / 2));
    });
}

SPMD_TEST(worker_pool, arrays_wait_for_the_room_of_arguments) {
    on_every_kind(test, world, 1, [&](worker_pool& pool) {
        const std::vector<std::int32_t> numbers(200'000, 2);
        auto call = pool.call(sum, numbers);
        const auto array = pool.allocate<std::int32_t>(0, 200'000);
        test.equal(array.size(), 200'000U);
        test.equal(call.get(), 400'000);
    });
}

SPMD_TEST(worker_pool, ranks_that_serve_call_nothing) {
    if (world.size() < 2) return;
    worker_pool pool(world, {.kind = worker_kind::rank, .memory_bytes = 1 << 16});
    if (pool.is_host()) return;
    const std::vector<std::int32_t> numbers(10);
    std::int32_t number = 0;
    const auto is_refused = [&](auto attempt) {
        const std::string what = refusal(attempt);
        test.that(what.find("this rank is a worker of the pool") != std::string::npos, what);
    };
    is_refused([&] { static_cast<void>(pool.call(nothing)); });
    is_refused([&] { static_cast<void>(pool.replicate(numbers)); });
    is_refused([&] { static_cast<void>(pool.shared_life()); });
    is_refused([&] { pool.free_shared(std::span(&number, 1)); });
    is_refused([&] {
        pool.share_out(3, 1, [&](std::size_t, std::size_t) { return pool.call(nothing); });
    });
}

SPMD_TEST(worker_pool, files_and_cancelled_calls) {
    on_every_kind(test, world, 1, [&](worker_pool& pool) {
        auto first = pool.call(nothing);
        auto second = pool.call(twice, 3);
        second.cancel();
        first.wait();
        // It may have begun already.
        const std::string what = refusal([&] { test.equal(second.get(), 6); });
        test.that(what == "nothing was refused" || what.find("was cancelled") != std::string::npos,
                  what);
    });
}

SPMD_TEST(worker_pool, a_routine_sees_that_its_time_is_over) {
    using namespace std::chrono_literals;
    on_every_kind(test, world, 2, [&](worker_pool& pool) {
        auto late = pool.call({.worker = 0, .timeout = 2ms}, until_cancelled);
        const std::string what = refusal([&] { late.wait(); });
        test.that(what.find("was not done within its time") != std::string::npos, what);
        test.equal(pool.call({.worker = 0}, twice, 4).get(), 8);
        auto given_up = pool.call({.worker = 0}, until_cancelled);
        given_up.cancel();
        while (!given_up.is_done()) {
        }
        // It was skipped, or it has returned.
        const std::string end = refusal([&] { given_up.wait(); });
        test.that(end == "nothing was refused" || end.find("was cancelled") != std::string::npos,
                  end);
    });
}

SPMD_TEST(worker_pool, threads_take_turns) {
    if (world.rank() != 0 || !world.machine().capabilities.real_time) return;
    for (const worker_kind kind : {worker_kind::thread, worker_kind::process}) {
        worker_pool pool({.workers = 1, .kind = kind});
        std::mutex turn;
        std::atomic<bool> waits = false;
        auto long_one = pool.call(until_cancelled);
        std::thread other([&] {
            while (!waits.load()) std::this_thread::yield();
            pool.want_turn();
            const std::lock_guard own(turn);
            long_one.cancel();
        });
        constexpr std::chrono::nanoseconds patience = std::chrono::seconds(90);
        const auto before = std::chrono::steady_clock::now();
        {
            const std::lock_guard own(turn);
            waits = true;
            const selion::detail::call_hold& hold = long_one.hold();
            test.that(
                !selion::detail::wait_call_shared(hold.pool(), hold.call(), patience.count(),
                                                  std::source_location::current(), true, false),
                "it is not done");
        }
        test.that(std::chrono::steady_clock::now() - before < patience, "somebody wants a turn");
        other.join();
        refusal([&] { long_one.wait(); });
    }
}

SPMD_TEST(worker_pool, what_is_not_this_pools_is_refused) {
    with_pool(test, world, {.workers = 1, .shared_bytes = 4096}, [&](worker_pool& pool) {
        worker_pool other({.workers = 1});
        auto foreign = other.allocate<double>(0, 8);
        auto own = pool.allocate<double>(0, 8);
        const std::string called = refusal([&] { pool.call(scale, 2.0, foreign).wait(); });
        test.that(called.find("lies on workers of another pool") != std::string::npos, called);
        const std::string copied = refusal([&] { own.copy_to(foreign); });
        test.that(copied.find("another pool") != std::string::npos, copied);
        const std::string huge =
            refusal([&] { static_cast<void>(pool.shared_array<double>(~std::size_t{0} / 4)); });
        test.that(huge.find("more than any memory has") != std::string::npos, huge);
        const std::span part = pool.shared_array<double>(8).subspan(4);
        const std::string freed = refusal([&] { pool.free_shared(part); });
        test.that(freed.find("not the start of an array") != std::string::npos, freed);
        const std::string none = refusal([&] { pool.wait_any(std::span<routine_call<>>()); });
        test.that(none.find("no call to wait for") != std::string::npos, none);
    });
}

}  // namespace
