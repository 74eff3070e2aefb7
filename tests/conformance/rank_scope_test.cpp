// SPDX-License-Identifier: Apache-2.0
/// Threads that a rank starts itself work for it: std::thread, and OpenMP where there is one.
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "conformance/memory_parts.hpp"

namespace {

/// Threads of one rank. The rank waits for them as ranks wait, so that ranks which share its thread
/// can run meanwhile: a plain join would stop them.
class helpers {
public:
    template <class Body>
    helpers(selion::world& world, std::uint32_t count, Body body)
        : finished_(world, 1), count_(count) {
        for (std::uint32_t number = 0; number < count; ++number) {
            threads_.emplace_back([this, &world, body, number] {
                const selion::rank_scope scope(world);
                body(number);
                selion::notify(finished_.own(), selion::signal_add(1));
            });
        }
    }
    void join() {
        selion::wait_until(finished_.own(), count_);
        for (std::jthread& thread : threads_) thread.join();
    }

private:
    spmd::symmetric_array<selion::signal> finished_;
    std::uint32_t count_;
    std::vector<std::jthread> threads_;
};

/// As many as may join: 64 in each process, unless the environment says otherwise.
std::uint32_t threads_per_rank(const selion::world& world) {
    const std::uint32_t ranks_here = world.size() / world.machine().processes;
    return std::min(3u, std::max(1u, 64 / ranks_here));
}

bool may_join(spmd::test_run& test, const selion::world& world) {
    if (world.thread_level() == selion::thread_level::multiple) return true;
    test.skip("the job's thread level is not multiple");
    return false;
}

SPMD_TEST(rank_scope, threads_put_get_and_add) {
    if (!may_join(test, world)) return;
    const std::uint32_t threads = threads_per_rank(world);
    const std::uint32_t rounds = test.rounds(4000, 20);
    spmd::symmetric_array<std::uint64_t> cells(world, threads);
    spmd::symmetric_array<std::uint64_t> counter(world, 1);
    helpers others(world, threads, [&](std::uint32_t number) {
        const auto there = cells.at(test.neighbour(), number);
        for (std::uint64_t i = 1; i <= rounds; ++i) {
            selion::put(there, i * 100 + world.rank());
            test.equal(selion::get(there), i * 100 + world.rank());
            selion::fetch_add(counter.at(0), 1);
            selion::compare_swap(counter.at(0), 0, 0);
        }
        selion::quiet();
    });
    others.join();
    world.barrier();
    for (std::uint32_t number = 0; number < threads; ++number) {
        test.equal(cells.mine()[number], rounds * 100ull + test.neighbour_before());
    }
    test.equal(selion::atomic_get(counter.at(0)), std::uint64_t{rounds} * threads * world.size());
}

/// What handlers of a rank find of each other.
struct narrow_room {
    std::uint64_t inside;
    std::uint64_t meetings;
    std::uint64_t visits;
};

void visit(selion::global_ptr<narrow_room> where) {
    narrow_room& room = *where.local();
    const std::atomic_ref inside(room.inside);
    if (inside.fetch_add(1, std::memory_order_relaxed) != 0) ++room.meetings;
    std::this_thread::yield();
    inside.fetch_sub(1, std::memory_order_relaxed);
    ++room.visits;
}

/// Whichever threads serve, and over whichever of two ways messages come.
SPMD_TEST(rank_scope, handlers_of_a_rank_run_one_at_a_time) {
    if (!may_join(test, world)) return;
    const std::uint32_t threads = threads_per_rank(world);
    // In each all threads of the ranks before it call a rank; eight of those crowd enough.
    const std::uint32_t rounds = test.rounds(40, 1);
    const std::uint32_t callers = std::min(world.size(), 8u);
    spmd::symmetric_array<narrow_room> room(world, 1);
    helpers others(world, threads, [&](std::uint32_t) {
        for (std::uint32_t i = 0; i < rounds; ++i) {
            for (std::uint32_t d = 0; d < callers; ++d) {
                const selion::rank_id to = test.neighbour(d);
                selion::rpc(to, visit, room.at(to)).get();
            }
        }
    });
    others.join();
    world.barrier();
    test.equal(room.mine()->meetings, std::uint64_t{0});
    test.equal(room.mine()->visits, std::uint64_t{rounds} * threads * callers);
    world.barrier();
}

SPMD_TEST(rank_scope, spans_and_own_memory) {
    if (!may_join(test, world)) return;
    constexpr std::size_t bytes = 70'001;
    const std::uint32_t threads = threads_per_rank(world);
    spmd::symmetric_array<std::byte> area(world, bytes * threads);
    helpers others(world, threads, [&](std::uint32_t number) {
        const auto there = area.at(test.neighbour(), number * bytes);
        selion::put(there, spmd::message(world.rank(), bytes, number));
        std::vector<std::byte> back(bytes);
        selion::get(std::span(back), there);
        test.that(back == spmd::message(world.rank(), bytes, number), "a span comes back");
        test.that(area.own().local() != nullptr, "a joined thread reaches its rank's memory");
        test.that(std::uint32_t{area.own().rank()} == world.rank(), "it works for its rank");
    });
    others.join();
    world.barrier();
    for (std::uint32_t number = 0; number < threads; ++number) {
        const std::span<const std::byte> part(area.mine() + number * bytes, bytes);
        test.that(std::ranges::equal(part, spmd::message(test.neighbour_before(), bytes, number)),
                  "what the neighbour's threads have put is there");
    }
}

SPMD_TEST(rank_scope, threads_signal_and_wait) {
    if (!may_join(test, world)) return;
    // A ring for each thread number: thread k of a rank calls thread k of the next one.
    const std::uint32_t threads = threads_per_rank(world);
    const std::uint32_t laps = test.rounds(1000, 8);
    spmd::symmetric_array<selion::signal> bells(world, threads);
    spmd::symmetric_array<std::uint64_t> letters(world, threads);
    helpers others(world, threads, [&](std::uint32_t number) {
        for (std::uint64_t lap = 1; lap <= laps; ++lap) {
            if (world.rank() != 0) selion::wait_until(bells.own(number), lap);
            if (world.rank() != 0) test.equal(selion::get(letters.own(number)), lap + number);
            selion::put_signal(letters.at(test.neighbour(), number), lap + number,
                               bells.at(test.neighbour(), number), selion::signal_set(lap));
            if (world.rank() == 0) selion::wait_until(bells.own(number), lap);
        }
    });
    others.join();
    world.barrier();
    test.equal(selion::read_signal(bells.own(threads - 1)), std::uint64_t{laps});
}

SPMD_TEST(rank_scope, several_sleepers_on_one_signal_are_all_woken) {
    if (!may_join(test, world)) return;
    const std::uint32_t threads = threads_per_rank(world);
    spmd::symmetric_array<selion::signal> call(world, 1);
    const spmd::way_giver way(world);
    for (std::uint64_t round = 1; round <= 3; ++round) {
        helpers others(world, threads, [&](std::uint32_t) {
            selion::wait_until(call.own(), round);
            test.at_least(selion::read_signal(call.own()), round);
        });
        way.idle(std::chrono::milliseconds(world.size() <= 8 ? 5 : 1));  // they go to sleep
        selion::notify(call.at(test.neighbour()), selion::signal_set(round));
        selion::wait_until(call.own(), round);
        others.join();
        world.barrier();
    }
}

SPMD_TEST(rank_scope, waits_of_threads_end_at_their_time) {
    if (!may_join(test, world)) return;
    spmd::symmetric_array<selion::signal> call(world, 1);
    helpers others(world, threads_per_rank(world), [&](std::uint32_t number) {
        const std::chrono::nanoseconds timeout = std::chrono::milliseconds(1 + number);
        const std::int64_t start_ns = world.now();
        test.that(!selion::wait_until(call.own(), 1, timeout), "nobody calls");
        test.at_least(world.now() - start_ns, std::int64_t{timeout.count()});
    });
    others.join();
}

SPMD_TEST(rank_scope, scopes_open_and_close_again_and_again) {
    if (!may_join(test, world)) return;
    spmd::symmetric_array<std::uint32_t> counter(world, 1);
    for (std::uint32_t round = 0; round < test.rounds(200, 3); ++round) {
        helpers others(world, 1, [&](std::uint32_t) { selion::fetch_add(counter.at(0), 1); });
        others.join();
    }
    world.barrier();
    test.equal(selion::atomic_get(counter.at(0)), test.rounds(200, 3) * world.size());
}

SPMD_TEST(rank_scope, a_thread_may_call_collectives_for_its_rank) {
    if (!may_join(test, world)) return;
    const std::uint64_t ranks = world.size();
    helpers others(world, 1, [&](std::uint32_t) {
        for (std::uint64_t round = 0; round < test.rounds(400, 5); ++round) {
            world.barrier();
            test.equal(world.all_reduce(world.rank() + round, selion::plus),
                       ranks * (ranks - 1) / 2 + ranks * round);
            test.equal(world.broadcast(world.rank(), round % ranks), round % ranks);
        }
    });
    others.join();
}

/// Long ones, while the rank's own thread serves messages.
SPMD_TEST(rank_scope, a_thread_may_exchange_for_its_rank) {
    if (!may_join(test, world)) return;
    spmd::symmetric_array<selion::signal> done(world, 1);
    helpers others(world, 1, [&](std::uint32_t) {
        const std::vector<std::uint64_t> given(world.size() * test.rounds(3000, 100), world.rank());
        std::vector<std::uint64_t> got(given.size());
        for (std::uint64_t round = 0; round < test.rounds(20, 3); ++round) {
            world.exchange(std::span(given), std::span(got));
            test.equal(got.back(), world.size() - 1u);
            const auto all = world.gather(world.rank() + round, 0);
            if (world.rank() == 0) test.equal(all.back(), world.size() - 1 + round);
        }
        selion::notify(done.at(world.rank()), selion::signal_add(1));
    });
    selion::wait_until(done.own(), 1);
    others.join();
}

/// The rank's own thread does nothing for them meanwhile.
SPMD_TEST(rank_scope, a_thread_may_start_collectives_for_its_rank) {
    if (!may_join(test, world)) return;
    helpers others(world, 1, [&](std::uint32_t) {
        for (std::uint64_t round = 0; round < test.rounds(50, 3); ++round) {
            auto sum = world.split_phase().all_reduce(world.rank() + round, selion::plus);
            auto all = world.split_phase().all_gather(round);
            const std::uint64_t ranks = world.size();
            test.equal(sum.get(), ranks * (ranks - 1) / 2 + ranks * round);
            test.equal(all.get().back(), round);
        }
    });
    others.join();
}

/// What follows an answer is run by the thread that takes it, one after another.
SPMD_TEST(rank_scope, a_thread_may_run_a_chain_of_any_length) {
    if (!may_join(test, world)) return;
    const bool have_own_threads =
        world.all_reduce(selion::detail::current_context->group_size, selion::maximum) == 1;
    const auto work = [&](std::uint32_t) {
        const auto links = static_cast<int>(test.rounds(200'000));
        auto last = selion::rpc(selion::rank_id(world.rank()), [] { return 0; });
        for (int i = 0; i < links; ++i)
            last = std::move(last).then([](int value) { return value + 1; });
        test.equal(last.get(), links);
    };
    if (have_own_threads) {
        std::jthread([&] {
            const selion::rank_scope scope(world);
            work(0);
        }).join();  // so that the rank's own thread does not take the answer
    } else {
        helpers(world, 1, work).join();
    }
    world.barrier();
}

#ifdef _OPENMP
SPMD_TEST(rank_scope, openmp_threads_work_for_their_rank) {
    if (!may_join(test, world)) return;
    const int threads = static_cast<int>(threads_per_rank(world)) + 1;
    const int count = static_cast<int>(test.rounds(20'000, 100));
    spmd::symmetric_array<std::uint64_t> cells(world, static_cast<std::size_t>(count));
    spmd::symmetric_array<std::uint64_t> sum(world, 1);
    // The first thread of the region is the rank's own: it belongs to the rank already.
    // It must not wait here: ranks on its thread would enter OpenMP in the middle of this region.
#pragma omp parallel num_threads(threads) default(shared)
    {
        std::optional<selion::rank_scope> scope;
        if (omp_get_thread_num() != 0) scope.emplace(world);
#pragma omp for
        for (int i = 0; i < count; ++i) {
            selion::put(cells.at(test.neighbour(), static_cast<std::size_t>(i)),
                        std::uint64_t(i) * 3 + world.rank());
            selion::fetch_add(sum.at(0), static_cast<std::uint64_t>(i));
        }
    }
    world.barrier();
    for (int i = 0; i < count; ++i) {
        test.equal(cells.mine()[i], std::uint64_t(i) * 3 + test.neighbour_before());
    }
    const auto whole = static_cast<std::uint64_t>(count);
    test.equal(selion::atomic_get(sum.at(0)), whole * (whole - 1) / 2 * world.size());
}
#endif

/// While the rank makes another team: neither disturbs the other.
SPMD_TEST(rank_scope, threads_let_teams_go) {
    if (!may_join(test, world)) return;
    spmd::end_teams(world);
    const std::uint64_t before = world.heap().runtime_bytes;
    const std::uint32_t rounds = test.rounds(300, 20);
    for (std::uint32_t round = 0; round < rounds; ++round) {
        std::optional<selion::team> last = world.split(world.rank() % 2);
        helpers other(world, 1, [&last](std::uint32_t) { last.reset(); });
        const selion::team next = world.split(0);
        test.equal(next.all_reduce(1u, selion::plus), world.size());
        other.join();
    }
    spmd::end_teams(world);
    test.that(world.heap().runtime_bytes <= before, "teams that threads let go hold no memory");
}

}  // namespace
