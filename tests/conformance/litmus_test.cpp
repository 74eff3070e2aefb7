// SPDX-License-Identifier: Apache-2.0
/// What may be seen in which order: small programs of two or three ranks, repeated, each with an
/// outcome that the headers forbid. All pairs of ranks play at the same time.
#include <array>

#include "conformance/memory_parts.hpp"

namespace {

/// Rounds of a test whose cost all ranks share; enough that rare outcomes come up.
constexpr std::uint32_t whole = 20000;

SPMD_TEST(litmus, message_passing_by_signal) {
    // Payload far from the signal, in several lines, then the signal: who sees the signal sees all.
    spmd::symmetric_array<std::uint64_t> payload(world, 64);
    spmd::symmetric_array<selion::signal> bells(world, 2);
    const std::uint32_t to = test.neighbour();
    for (std::uint64_t round = 1; round <= test.rounds(whole); ++round) {
        for (std::size_t i = 0; i < 64; i += 9) selion::put(payload.at(to, i), round + i);
        selion::notify(bells.at(to, 0), selion::signal_set(round));
        selion::wait_until(bells.own(0), round);
        for (std::size_t i = 0; i < 64; i += 9) test.equal(selion::get(payload.own(i)), round + i);
        selion::notify(bells.at(test.neighbour_before(), 1), selion::signal_set(round));
        selion::wait_until(bells.own(1), round);
    }
    world.barrier();
}

SPMD_TEST(litmus, message_passing_by_a_signal_that_is_only_read) {
    spmd::symmetric_array<std::uint64_t> payload(world, 64);
    spmd::symmetric_array<selion::signal> bells(world, 2);
    const spmd::way_giver give_way(world);
    const std::uint32_t to = test.neighbour();
    for (std::uint64_t round = 1; round <= test.rounds(whole); ++round) {
        selion::put(payload.at(to, 40), round);
        selion::notify(bells.at(to, 0), selion::signal_add(1));
        while (selion::read_signal(bells.own(0)) < round) give_way();
        test.equal(selion::get(payload.own(40)), round);
        selion::notify(bells.at(test.neighbour_before(), 1), selion::signal_add(1));
        while (selion::read_signal(bells.own(1)) < round) give_way();
    }
    world.barrier();
}

SPMD_TEST(litmus, message_passing_by_fence_and_atomic) {
    // put data; fence; atomic_put flag || atomic_get flag; get data. Forbidden: flag new, data old.
    spmd::symmetric_array<std::uint64_t> payload(world, 64);
    spmd::symmetric_array<std::uint64_t> flags(world, 64);
    const spmd::way_giver give_way(world);
    const std::uint32_t to = test.neighbour();
    const std::uint32_t from = test.neighbour_before();
    for (std::uint64_t round = 1; round <= test.rounds(whole); ++round) {
        selion::put(payload.at(to, 5), round);
        selion::put(payload.at(to, 50), round * 2);
        selion::fence();
        selion::atomic_put(flags.at(to, 0), round);
        while (selion::atomic_get(flags.own(0)) < round) give_way();
        test.equal(selion::get(payload.own(5)), round);
        test.equal(selion::get(payload.own(50)), round * 2);
        selion::atomic_put(flags.at(from, 32), round);
        while (selion::atomic_get(flags.own(32)) < round) give_way();
    }
    world.barrier();
}

SPMD_TEST(litmus, message_passing_by_fetch_add) {
    spmd::symmetric_array<std::uint64_t> payload(world, 1);
    spmd::symmetric_array<std::uint32_t> flags(world, 64);
    const spmd::way_giver give_way(world);
    const std::uint32_t to = test.neighbour();
    for (std::uint32_t round = 1; round <= test.rounds(whole); ++round) {
        selion::put(payload.at(to), std::uint64_t{round} * 5);
        selion::fetch_add(flags.at(to, 0), 1);
        while (selion::fetch_add(flags.own(0), 0) < round) give_way();
        test.equal(selion::get(payload.own()), std::uint64_t{round} * 5);
        selion::fetch_add(flags.at(test.neighbour_before(), 32), 1);
        while (selion::fetch_add(flags.own(32), 0) < round) give_way();
    }
    world.barrier();
}

SPMD_TEST(litmus, store_buffering_with_quiet) {
    // x := 1; quiet; read y || y := 1; quiet; read x. Forbidden: both read the old value.
    const std::uint32_t pair = world.rank() / 2 * 2;
    const bool has_partner = pair + 1 < world.size();
    const bool is_first = world.rank() == pair;
    spmd::symmetric_array<std::uint64_t> cells(world, 64);
    spmd::symmetric_array<std::uint64_t> seen(world, 64);
    // The variables lie at the first of the pair: 0 is x, 32 is y.
    const auto mine = cells.at(pair, is_first ? 0 : 32);
    const auto theirs = cells.at(pair, is_first ? 32 : 0);
    for (std::uint64_t round = 1; round <= test.rounds(whole); ++round) {
        world.sync();
        if (has_partner) {
            selion::atomic_put(mine, round);
            selion::quiet();
            const std::uint64_t other = selion::atomic_get(theirs);
            selion::put(seen.at(pair, is_first ? 0 : 32), other);
        }
        world.barrier();
        if (has_partner && is_first) {
            test.that(seen.mine()[0] == round || seen.mine()[32] == round,
                      "at least one of the two sees the other's store");
        }
    }
}

/// A puts to C; quiet; calls B. B calls C. C must see A's data, though A never called C.
template <class Quiet>
void reach_third_ranks(spmd::test_run& test, selion::world& world, Quiet quiet) {
    spmd::symmetric_array<std::uint64_t> payload(world, 64);
    spmd::symmetric_array<selion::signal> bells(world, 3);
    const std::uint32_t b = test.neighbour(1);
    const std::uint32_t c = test.neighbour(2);
    for (std::uint64_t round = 1; round <= test.rounds(whole, 20); ++round) {
        selion::put(payload.at(c, 33), round * 7);
        quiet(c);
        selion::notify(bells.at(b, 0), selion::signal_set(round));
        selion::wait_until(bells.own(0), round);
        selion::notify(bells.at(test.neighbour(), 1), selion::signal_set(round));
        selion::wait_until(bells.own(1), round);
        test.equal(selion::get(payload.own(33)), round * 7);
        selion::notify(bells.at(test.neighbour_before(2), 2), selion::signal_set(round));
        selion::wait_until(bells.own(2), round);
    }
    world.barrier();
}

SPMD_TEST(litmus, quiet_reaches_third_ranks) {
    reach_third_ranks(test, world, [](std::uint32_t) { selion::quiet(); });
}

SPMD_TEST(litmus, quiet_of_one_rank_reaches_third_ranks) {
    reach_third_ranks(test, world,
                      [](std::uint32_t rank) { selion::quiet(selion::rank_id{rank}); });
}

SPMD_TEST(litmus, one_place_never_goes_back) {
    // One rank raises a place; whoever reads it twice never sees the later value first.
    spmd::symmetric_array<std::uint64_t> place(world, 1);
    const std::uint64_t last = test.rounds(whole * 4);
    std::uint64_t before = 0;
    for (std::uint64_t i = 1; i <= last; ++i) {
        selion::atomic_put(place.own(), i);
        const std::uint64_t now = selion::atomic_get(place.at(test.neighbour()));
        test.at_least(now, before);
        before = now;
    }
    world.barrier();
    test.equal(selion::atomic_get(place.at(test.neighbour())), last);
}

SPMD_TEST(litmus, two_places_in_order_of_a_fence) {
    // x := i; fence; y := i || read y; read x. Forbidden: x older than y.
    spmd::symmetric_array<std::uint64_t> places(world, 64);
    const std::uint32_t peer = test.neighbour();
    for (std::uint64_t i = 1; i <= test.rounds(whole * 4); ++i) {
        selion::atomic_put(places.own(0), i);
        selion::fence();
        selion::atomic_put(places.own(32), i);
        const std::uint64_t y = selion::atomic_get(places.at(peer, 32));
        const std::uint64_t x = selion::atomic_get(places.at(peer, 0));
        test.at_least(x, y);
    }
    world.barrier();
}

/// Rank A changes things at C and tells B, which looks at C, while all others write to C.
/// @param tell what A does in a round. @param await what B waits for before it looks at `x`.
template <class Tell, class Await>
void look_in_traffic(spmd::test_run& test, selion::world& world, Tell tell, Await await) {
    if (world.size() < 3) return test.skip("needs three ranks");
    constexpr std::size_t words = 16;
    constexpr int puts = 20;
    const selion::rank_id b = world.size() - 2;
    const selion::rank_id c = world.size() - 1;
    spmd::symmetric_array<std::uint64_t> x(world, 1);
    spmd::symmetric_array<std::uint64_t> noise(world, words * world.size());
    const std::vector<std::uint64_t> block(words, 1);
    const auto own_place = noise.at(c, words * world.rank());
    for (std::uint64_t round = 1; round <= test.rounds(200); ++round) {
        world.barrier();
        if (world.rank() == 0) {
            selion::put(own_place, std::span<const std::uint64_t>(block));
            selion::put(x.at(c), round);
            tell(b, c, round);
            test.equal(selion::get(x.at(c)), round);
        } else if (world.rank() == b) {
            await(c, round);
            test.equal(selion::get(x.at(c)), round);
        } else if (world.rank() != c) {
            for (int i = 0; i < puts; ++i) {
                selion::put(own_place, std::span<const std::uint64_t>(block));
            }
        }
    }
    world.barrier();
}

SPMD_TEST(litmus, an_atomic_comes_behind_a_put_in_traffic) {
    spmd::symmetric_array<std::uint64_t> flags(world, 1);
    const spmd::way_giver give_way(world);
    look_in_traffic(
        test, world,
        [&](std::uint32_t, std::uint32_t c, std::uint64_t) { selion::fetch_add(flags.at(c), 1); },
        [&](std::uint32_t c, std::uint64_t round) {
            while (selion::atomic_get(flags.at(c)) < round) give_way();
        });
}

SPMD_TEST(litmus, quiet_for_one_rank_waits_for_puts_in_traffic) {
    spmd::symmetric_array<selion::signal> bells(world, 1);
    look_in_traffic(
        test, world,
        [&](std::uint32_t b, std::uint32_t c, std::uint64_t round) {
            selion::quiet(selion::rank_id{c});
            selion::notify(bells.at(b), selion::signal_set(round));
        },
        [&](std::uint32_t, std::uint64_t round) { selion::wait_until(bells.own(), round); });
}

SPMD_TEST(litmus, a_get_sees_the_put_before_it_in_traffic) {
    constexpr std::size_t words = 64;
    spmd::symmetric_array<std::uint64_t> cells(world, words * world.size());
    const auto place = cells.at(world.size() - 1, words * world.rank());
    std::vector<std::uint64_t> data(words);
    for (std::uint64_t round = 1; round <= test.rounds(200); ++round) {
        std::ranges::fill(data, round);
        selion::put(place, std::span<const std::uint64_t>(data));
        test.equal(selion::get(place + (words - 1)), round);
    }
    world.barrier();
}

SPMD_TEST(litmus, a_handler_tells_only_of_what_its_rank_has_sent) {
    // A: x at C := i; own := i || handler at A, for B: tell C own || C: told, read x.
    // Forbidden: x older than what C was told.
    if (world.size() < 3) return test.skip("needs three ranks");
    if (world.progress() == selion::progress_kind::interrupt &&
        world.machine().capabilities.real_time) {
        return test.skip("there a handler runs beside its rank");
    }
    const selion::rank_id b = 1;
    const selion::rank_id c = 2;
    spmd::symmetric_array<std::uint64_t> x(world, 1);
    spmd::symmetric_array<std::uint64_t> own(world, 1);
    spmd::symmetric_array<selion::signal> bells(world, 1);
    struct news {
        selion::global_ptr<std::uint64_t> own;
        selion::global_ptr<selion::signal> bell;
    };
    const std::uint64_t last = test.rounds(1000);
    if (world.rank() == 0) {
        for (std::uint64_t i = 1; i <= last; ++i) {
            selion::atomic_put(x.at(c), i);
            *own.mine() = i;
            selion::charge(selion::int_ops(i % 7));
        }
        selion::notify(bells.at(c), selion::signal_set(last));
    } else if (world.rank() == b) {
        for (std::uint64_t i = 0; i < last; ++i) {
            selion::send(
                selion::rank_id{0},
                [](const news& about, selion::message_info) {
                    const std::uint64_t sent = *about.own.local();
                    if (sent != 0) selion::notify(about.bell, selion::signal_set(sent));
                    return selion::arrival{};
                },
                news{own.at(0), bells.at(c)});
            selion::charge(selion::int_ops(i % 11));
        }
    } else if (world.rank() == c) {
        for (std::uint64_t told = 0; told < last;) {
            selion::wait_until(bells.own(), told + 1);
            told = selion::read_signal(bells.own());
            test.at_least(selion::atomic_get(x.own()), told);
        }
    }
    world.barrier();
}

/// What a handler of a message looks for.
struct look_for {
    selion::global_ptr<std::uint64_t> data;
    selion::global_ptr<std::uint64_t> misses;
    std::uint64_t round;
};

SPMD_TEST(litmus, a_handler_sees_earlier_puts) {
    // put data (few bytes and many); send || handler: get data. Forbidden: old data.
    constexpr std::size_t words = 300;
    spmd::symmetric_array<std::uint64_t> payload(world, words);
    spmd::symmetric_array<std::uint64_t> misses(world, 1);
    selion::counter handled;
    const selion::rank_id to = test.neighbour();
    std::vector<std::uint64_t> data(words);
    for (std::uint64_t round = 1; round <= test.rounds(whole); ++round) {
        std::ranges::fill(data, round);
        selion::put(payload.at(to, 0), std::span<const std::uint64_t>(data).first(words - 1));
        selion::put(payload.at(to, words - 1), round);
        selion::send(to,
                     [](const look_for& wanted, selion::message_info) {
                         const std::uint64_t* const seen = wanted.data.local();
                         const bool is_there = seen[0] == wanted.round &&
                                               seen[words - 2] == wanted.round &&
                                               seen[words - 1] == wanted.round;
                         *wanted.misses.local() += is_there ? 0 : 1;
                         return selion::arrival{};
                     },
                     look_for{payload.at(to), misses.at(to), round}, {}, {.completion = &handled});
        handled.wait(1);
    }
    world.barrier();
    test.equal(*misses.mine(), 0u);
}

std::uint64_t put_and_return(selion::global_ptr<std::uint64_t> place, std::uint64_t value) {
    selion::put(place, value);
    return value;
}

SPMD_TEST(litmus, a_reply_shows_what_its_handler_did) {
    // rpc: handler puts data at the caller || after the result: data. Forbidden: old data.
    spmd::symmetric_array<std::uint64_t> payload(world, 1);
    const auto home = payload.own();
    for (std::uint64_t round = 1; round <= test.rounds(whole); ++round) {
        auto told = selion::rpc(test.neighbour(), put_and_return, home, round);
        test.equal(told.get(), round);
        test.equal(*payload.mine(), round);
    }
    world.barrier();
}

SPMD_TEST(litmus, a_reply_shows_what_its_handler_did_behind_other_puts) {
    // The same where so many puts are on their way that the handler's has to wait.
    constexpr std::size_t words = 512;
    constexpr int puts = 150;
    spmd::symmetric_array<std::uint64_t> payload(world, 1);
    spmd::symmetric_array<std::uint64_t> bulk(world, words);
    const std::vector<std::uint64_t> data(words, world.rank());
    const auto home = payload.own();
    for (std::uint64_t round = 1; round <= test.rounds(20); ++round) {
        for (int i = 0; i < puts; ++i) {
            selion::put(bulk.at(test.neighbour()), std::span<const std::uint64_t>(data));
        }
        auto told = selion::rpc(test.neighbour(), put_and_return, home, round);
        test.equal(told.get(), round);
        test.equal(*payload.mine(), round);
    }
    world.barrier();
}

}  // namespace
