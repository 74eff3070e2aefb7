// SPDX-License-Identifier: Apache-2.0
/// Completion handlers that may wait.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

/// What completion handlers of a rank find in its memory, and leave there.
struct desk {
    selion::signal go;  ///< raised by others
    std::uint64_t value;
    std::uint64_t sum;
    std::uint64_t is_busy;
    std::uint64_t overlaps;
    std::uint64_t out_of_order;
    std::uint64_t seen[64];  ///< from each rank
    selion::rank_id rank;    ///< its own
    selion::global_ptr<desk> all;
};

/// Every rank's desk, which knows its rank.
class desks : public spmd::symmetric_array<desk> {
public:
    explicit desks(selion::world& world) : symmetric_array(world, 1) {
        mine()->rank = world.rank();
        mine()->all = own();
        mine()->value = world.rank() + 100;
        world.barrier();
    }
};

template <class Body>
struct errand {
    selion::global_ptr<desk> where;
    Body body;
};

/// Has `body(desk&, origin)` called at a rank as a completion handler that may wait.
template <class Body>
void have_done(const desks& all, selion::rank_id to, Body body, const selion::counters& when = {}) {
    selion::send(
        to,
        [](const errand<Body>& came, selion::message_info about) {
            struct kept {
                errand<Body> what;
                selion::rank_id origin;
            };
            return selion::arrival{.completion =
                                       [](void* argument) {
                                           auto* const own = static_cast<kept*>(argument);
                                           desk& here = *own->what.where.local();
                                           own->what.body(here, own->origin);
                                           delete own;
                                       },
                                   .argument = new kept{came, about.origin},
                                   .may_wait = true};
        },
        errand<Body>{all.at(to), body}, {}, when);
}

SPMD_TEST(completion, may_get_and_wait_for_what_it_has_started) {
    desks all(world);
    selion::counter complete;
    have_done(all, test.neighbour(),
              [](desk& here, selion::rank_id origin) {
                  here.sum = selion::get(here.all.on(origin).member(&desk::value));
                  selion::counter got;
                  std::uint64_t again = 0;
                  selion::get(std::span(&again, 1), here.all.on(origin).member(&desk::value), got);
                  got.wait(1);
                  here.sum += again;
                  here.sum += selion::fetch_add(here.all.on(origin).member(&desk::value), 1000);
                  selion::quiet();
              },
              {.completion = &complete});
    complete.wait(1);
    world.barrier();
    test.equal(all.mine()->sum, 3u * (test.neighbour_before() + 100));
    test.equal(all.mine()->value, world.rank() + 1100);
    world.barrier();
}

SPMD_TEST(completion, may_call_other_ranks_and_wait_for_the_answer) {
    desks all(world);
    selion::counter complete;
    have_done(all, test.neighbour(),
              [](desk& here, selion::rank_id origin) {
                  for (std::uint32_t i = 0; i < 10; ++i) {
                      here.sum +=
                          selion::rpc(origin, [](std::uint32_t x) { return x * x; }, i).get();
                  }
              },
              {.completion = &complete});
    complete.wait(1);
    world.barrier();
    test.equal(all.mine()->sum, 285u);
    world.barrier();
}

SPMD_TEST(completion, counters_count_after_it) {
    if (world.size() == 1) return test.skip("the rank would wait for itself");
    desks all(world);
    spmd::symmetric_array<selion::counter> there(world, 1);
    const spmd::way_giver let_others_run(world);
    const selion::rank_id to = world.size() - 1;
    const auto counted = [](selion::global_ptr<selion::counter> which) {
        return which.local()->value();
    };
    if (world.rank() == 0) {
        selion::counter complete;
        have_done(all, to,
                  [](desk& here, selion::rank_id) {
                      selion::wait_until(here.all.member(&desk::go), 1);
                      here.sum = 7;
                  },
                  {.target = there.at(to), .completion = &complete});
        // It waits, and its rank answers all the same.
        for (int look = 0; look < 5; ++look) {
            test.equal(selion::rpc(to, counted, there.at(to)).get(), 0);
            let_others_run();
        }
        test.equal(complete.value(), 0);
        selion::notify(all.at(to).member(&desk::go), selion::signal_add(1));
        complete.wait(1);
        test.equal(selion::rpc(to, counted, there.at(to)).get(), 1);
        test.equal(selion::get(all.at(to).member(&desk::sum)), 7u);
    }
    world.barrier();
}

SPMD_TEST(completion, runs_while_its_rank_is_in_a_collective) {
    desks all(world);
    if (world.rank() == 0) {
        selion::counter complete;
        for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
            have_done(all, rank,
                      [](desk& here, selion::rank_id origin) {
                          here.sum =
                              selion::rpc(origin, [](std::uint64_t x) { return x + 1; }, 5).get();
                      },
                      {.completion = &complete});
        }
        complete.wait(world.size());
    }
    world.barrier();
    test.equal(all.mine()->sum, 6u);
    test.equal(world.all_reduce(all.mine()->sum, selion::plus), 6u * world.size());
}

SPMD_TEST(completion, many_of_a_rank_run_one_at_a_time_in_order) {
    desks all(world);
    const std::uint64_t each = test.rounds(2000, 3);
    selion::counter complete;
    for (std::uint64_t i = 0; i < each; ++i) {
        const auto body = [i](desk& here, selion::rank_id origin) {
            here.overlaps += here.is_busy;
            here.is_busy = 1;
            here.sum += 1;
            here.out_of_order += here.seen[origin]++ == i ? 0 : 1;
            if (i % 8 == 0) {
                here.sum += selion::rpc(origin, [](unsigned x) { return x; }, 0u).get();
            }
            here.is_busy = 0;
        };
        for (std::uint32_t d = 0; d < world.size(); ++d) {
            have_done(all, test.neighbour(d), body, {.completion = &complete});
        }
    }
    complete.wait(each * world.size());
    world.barrier();
    test.equal(all.mine()->sum, each * world.size());
    test.equal(all.mine()->overlaps, 0u);
    test.equal(all.mine()->out_of_order, 0u);
}

/// A started collective goes on while a handler of its rank waits for what comes after it.
SPMD_TEST(completion, waits_do_not_hold_up_started_collectives) {
    if (world.size() == 1) return;
    desks all(world);
    const bool is_last = world.rank() + 1 == world.size();
    selion::counter complete;
    const auto start = [&] { return world.split_phase().all_reduce(1u, selion::plus); };
    selion::future<std::uint32_t> sum;
    if (!is_last) sum = start();
    world.barrier();
    if (is_last) {
        have_done(all, 0,
                  [](desk& here, selion::rank_id) {
                      selion::wait_until(here.all.on(here.rank).member(&desk::go), 1);
                  },
                  {.completion = &complete});
    }
    if (is_last) sum = start();
    test.equal(sum.get(), world.size());
    if (is_last) {
        selion::notify(all.at(0).member(&desk::go), selion::signal_add(1));
        complete.wait(1);
    }
    world.barrier();
}

SPMD_TEST(completion, may_wait_for_one_of_another_rank) {
    desks all(world);
    if (world.rank() == 0) {
        // Each has the next one do the same, and waits for it.
        struct chain {
            static void pass(desk& here, selion::rank_id) {
                const std::uint64_t left = here.value;
                if (left == 0) return;
                const selion::rank_id next = here.rank + 1;
                selion::put(here.all.on(next).member(&desk::value), left - 1);
                selion::counter complete;
                selion::send(
                    next,
                    [](const selion::global_ptr<desk>& where, selion::message_info) {
                        return selion::arrival{
                            .completion = [](void* own) { pass(*static_cast<desk*>(own), 0); },
                            .argument = where.local(),
                            .may_wait = true};
                    },
                    here.all.on(next), {}, {.completion = &complete});
                complete.wait(1);
                here.sum = selion::get(here.all.on(next).member(&desk::sum)) + 1;
            }
        };
        all.mine()->value = world.size() - 1;
        selion::counter complete;
        have_done(all, 0, &chain::pass, {.completion = &complete});
        complete.wait(1);
        test.equal(all.mine()->sum, world.size() - 1);
    }
    world.barrier();
}

constexpr std::size_t data_bytes = 100000;

void look_at_data(void* argument) {
    auto& here = *static_cast<desk*>(argument);
    const selion::global_ptr<std::byte> place(here.value);
    selion::wait_until(here.all.member(&desk::go), here.is_busy);
    const std::span<const std::byte> bytes(place.local(), data_bytes);
    here.sum += std::ranges::equal(bytes, spmd::message(here.rank, data_bytes)) ? 1 : 0;
}

SPMD_TEST(completion, finds_the_data_in_their_place) {
    desks all(world);
    spmd::symmetric_array<std::byte> places(world, data_bytes);
    const std::vector<std::byte> mine = spmd::message(world.rank(), data_bytes);
    struct header {
        selion::global_ptr<desk> where;
        selion::global_ptr<std::byte> place;
        std::uint64_t turn;
    };
    for (std::uint32_t turn = 0; turn < 2 * std::min(world.size() - 1, 8u); ++turn) {
        const bool lends = turn % 2 == 0;
        const selion::rank_id to = test.neighbour();
        if (world.rank() == turn / 2) {
            std::vector<std::byte> data = mine;
            selion::counter reusable;
            selion::counter complete;
            selion::put(all.at(to).member(&desk::value), places.at(to).bits());
            selion::send(to,
                         [](const header& came, selion::message_info about) {
                             came.where.local()->rank = about.origin;
                             came.where.local()->is_busy = came.turn;
                             return selion::arrival{.place = came.place.local(),
                                                    .completion = &look_at_data,
                                                    .argument = came.where.local(),
                                                    .may_wait = true};
                         },
                         header{all.at(to), places.at(to), turn + 1}, data,
                         {.origin = lends ? &reusable : nullptr, .completion = &complete});
            if (lends) reusable.wait(1);  // the handler has run, and the other one waits
            std::ranges::fill(data, std::byte{0});
            selion::notify(all.at(to).member(&desk::go), selion::signal_set(turn + 1));
            complete.wait(1);
            test.equal(selion::get(all.at(to).member(&desk::sum)), turn % 2 + 1);
        }
        world.barrier();
    }
}

SPMD_TEST(completion, waits_of_the_rank_keep_their_time_limits) {
    desks all(world);
    selion::counter complete;
    have_done(all, world.rank(),
              [](desk& here, selion::rank_id) {
                  const bool in_time = selion::wait_until(here.all.member(&desk::go), 1,
                                                          std::chrono::milliseconds(2));
                  here.sum = in_time ? 1 : 2;
              },
              {.completion = &complete});
    selion::counter never;
    test.that(!never.wait(1, std::chrono::microseconds(10)), "it has not counted");
    complete.wait(1);
    test.equal(all.mine()->sum, 2u);
    world.barrier();
}

SPMD_TEST(completion, both_may_wait_for_one_counter) {
    desks all(world);
    if (world.progress() == selion::progress_kind::interrupt &&
        world.machine().capabilities.real_time) {
        return test.skip("there they wait at the same time");
    }
    selion::counter shared;
    selion::counter complete;
    all.mine()->value = reinterpret_cast<std::uint64_t>(&shared);
    have_done(all, world.rank(),
              [](desk& here, selion::rank_id) {
                  reinterpret_cast<selion::counter*>(here.value)->wait(1);
              },
              {.completion = &complete});
    for (int i = 0; i < 2; ++i) {
        selion::send(world.rank(),
                     [](const std::uint64_t&, selion::message_info) { return selion::arrival{}; },
                     std::uint64_t{0}, {}, {.completion = &shared});
    }
    shared.wait(1);
    complete.wait(1);
    test.equal(shared.value(), 0);
    world.barrier();
}

SPMD_TEST(completion, of_a_rank_that_computes_runs_by_interrupts) {
    if (world.progress() != selion::progress_kind::interrupt ||
        !world.machine().capabilities.real_time) {
        return test.skip("it waits for calls here");
    }
    if (world.machine().carriers < world.size()) {
        return test.skip("a rank that never calls keeps those of its thread from sending");
    }
    desks all(world);
    for (std::uint64_t round = 1; round <= 10; ++round) {
        for (std::uint32_t turn = 0; turn < world.size(); ++turn) {
            world.barrier();
            if (turn == world.rank()) {
                have_done(all, test.neighbour(), [](desk& here, selion::rank_id origin) {
                    const int answer = selion::rpc(origin, [](int x) { return x; }, 1).get();
                    std::atomic_ref(here.value).fetch_add(static_cast<std::uint64_t>(answer));
                });
            }
            if (turn == test.neighbour_before()) {
                std::atomic_ref value(all.mine()->value);
                while (value.load() < world.rank() + 100 + round) sched_yield();
            }
        }
    }
    world.barrier();
}

}  // namespace
