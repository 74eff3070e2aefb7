// SPDX-License-Identifier: Apache-2.0
/// Signals: they announce data, wake whoever waits, and waits end in time.
#include <chrono>

#include "conformance/memory_parts.hpp"

namespace {

using namespace std::chrono_literals;

/// Payload and announcement in one line.
struct letter {
    std::uint64_t text[4];
    selion::signal arrived;
};

selion::global_ptr<selion::signal> signal_of(selion::global_ptr<letter> one) {
    return (one.reinterpret<std::byte>() + offsetof(letter, arrived)).reinterpret<selion::signal>();
}

SPMD_TEST(signal, zeroed_memory_is_a_signal_of_zero) {
    spmd::symmetric_array<selion::signal> bell(world, 3);
    test.equal(selion::read_signal(bell.own(1)), 0u);
    selion::wait_until(bell.own(1), 0);
    test.that(selion::wait_until(bell.own(1), 0, 0ns), "zero has arrived from the start");
}

SPMD_TEST(signal, set_and_add_change_the_value_alone) {
    spmd::symmetric_array<selion::signal> bell(world, 3);
    const auto there = bell.at(test.neighbour(), 1);
    selion::notify(there, selion::signal_set(7));
    selion::notify(there, selion::signal_add(5));
    selion::notify(there, selion::signal_add(std::uint64_t{1} << 40));
    selion::wait_until(bell.own(1), (std::uint64_t{1} << 40) + 12);
    world.barrier();
    test.equal(selion::read_signal(bell.own(1)), (std::uint64_t{1} << 40) + 12);
    test.equal(selion::read_signal(bell.own(0)), 0u);
    test.equal(selion::read_signal(bell.own(2)), 0u);
}

/// Round and round a ring, with an acknowledgement to the sender, so that nothing is overwritten
/// that is still to be read. @param how makes the update of a round.
template <class Update>
void pass_round(spmd::test_run& test, selion::world& world, Update update) {
    spmd::symmetric_array<letter> letters(world, 1);
    spmd::symmetric_array<selion::signal> read(world, 1);
    const std::uint32_t to = test.neighbour();
    const std::uint32_t from = test.neighbour_before();
    const auto there = letters.at(to).reinterpret<std::uint64_t>();
    for (std::uint64_t round = 1; round <= test.rounds(8000, 20); ++round) {
        selion::wait_until(read.own(), round - 1);
        selion::put(there + 1, round * 3);
        selion::put_signal(there, round * 1000 + world.rank(), signal_of(letters.at(to)),
                           update(round));
        selion::wait_until(signal_of(letters.own()), round);
        test.equal(letters.mine()->text[0], round * 1000 + from);
        test.equal(letters.mine()->text[1], round * 3);
        selion::notify(read.at(from), selion::signal_add(1));
    }
    world.barrier();
}

SPMD_TEST(signal, values_round_a_ring_with_set) {
    pass_round(test, world, [](std::uint64_t round) { return selion::signal_set(round); });
}

SPMD_TEST(signal, values_round_a_ring_with_add) {
    pass_round(test, world, [](std::uint64_t) { return selion::signal_add(1); });
}

SPMD_TEST(signal, spans_arrive_whole) {
    constexpr std::array<std::size_t, 6> sizes{0, 1, 8, 4096, 65537, (1 << 20) + 3};
    spmd::symmetric_array<selion::signal> arrived(world, 1);
    std::uint64_t round = 0;
    for (const std::size_t bytes : sizes) {
        spmd::guarded_range range(world, bytes + 8);
        for (const bool adds : {false, true}) {
            ++round;
            range.clear();
            world.barrier();
            const std::vector<std::byte> text =
                spmd::message(world.rank(), bytes, static_cast<std::uint32_t>(round));
            selion::put_signal(range.on(test.neighbour(), 3), std::span<const std::byte>(text),
                               arrived.at(test.neighbour()),
                               adds ? selion::signal_add(1) : selion::signal_set(round));
            selion::wait_until(arrived.own(), round);
            range.check(
                test,
                spmd::message(test.neighbour_before(), bytes, static_cast<std::uint32_t>(round)),
                3);
            world.barrier();
        }
    }
    test.equal(selion::read_signal(arrived.own()), round);
}

SPMD_TEST(signal, everybody_adds_to_everybody) {
    spmd::symmetric_array<std::uint64_t> slots(world, world.size());
    spmd::symmetric_array<selion::signal> arrived(world, 1);
    const std::uint32_t rounds = test.rounds(600 / world.size() + 1, 3);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        for (std::uint32_t d = 0; d < world.size(); ++d) {
            const std::uint32_t to = test.neighbour(d);
            selion::put_signal(slots.at(to, world.rank()), round * 100 + world.rank(),
                               arrived.at(to), selion::signal_add(1));
        }
        selion::wait_until(arrived.own(), round * world.size());
        for (std::uint32_t from = 0; from < world.size(); ++from) {
            test.equal(slots.mine()[from], round * 100 + from);
        }
        world.barrier();
    }
    test.equal(selion::read_signal(arrived.own()), std::uint64_t{rounds} * world.size());
}

SPMD_TEST(signal, a_wait_without_arrival_ends_at_its_time) {
    spmd::symmetric_array<selion::signal> bell(world, 1);
    for (const std::chrono::nanoseconds timeout : {0ns, 1000ns, 300'000ns, 20'000'000ns}) {
        const std::int64_t start_ns = world.now();
        test.that(!selion::wait_until(bell.own(), 1, timeout), "nothing has arrived");
        test.at_least(world.now() - start_ns, std::int64_t{timeout.count()});
    }
    test.that(!selion::wait_until(bell.own(), 1, -5ns), "a negative time has passed already");
    world.barrier();
    // The signal still works, and does so for those who went to sleep on it and left.
    selion::notify(bell.at(test.neighbour()), selion::signal_set(1));
    test.that(selion::wait_until(bell.own(), 1, 50s), "arrives after an earlier time-out");
    test.that(selion::wait_until(bell.own(), 1, 0ns), "what has arrived needs no time");
    test.that(!selion::wait_until(bell.own(), 2, 0ns), "more than arrived has not");
}

SPMD_TEST(signal, deadlines_of_ranks_do_not_disturb_each_other) {
    spmd::symmetric_array<selion::signal> bell(world, 1);
    const std::chrono::nanoseconds timeout = 1ms * (1 + world.rank() % 5);
    const std::int64_t start_ns = world.now();
    test.that(!selion::wait_until(bell.own(), 1, timeout), "nobody calls");
    test.at_least(world.now() - start_ns, std::int64_t{timeout.count()});
    world.barrier();
    // Half of them wait with a deadline, the others without; all are called.
    if (world.rank() % 2 == 0) {
        selion::notify(bell.at(test.neighbour()), selion::signal_add(1));
        test.that(selion::wait_until(bell.own(), 1, 50s), "the call comes in time");
    } else {
        selion::wait_until(bell.own(), 1);
        selion::notify(bell.at(test.neighbour()), selion::signal_add(1));
    }
    world.barrier();
    test.equal(selion::read_signal(bell.own()), 1u);
}

SPMD_TEST(signal, who_sleeps_is_woken) {
    // Longer than anybody's patience passes before each hop, so that the others sleep.
    spmd::symmetric_array<selion::signal> token(world, 1);
    const spmd::way_giver way(world);
    const std::uint32_t laps = world.size() <= 8 ? 3 : 1;
    const std::chrono::nanoseconds delay = world.size() <= 8 ? 5ms : 1ms;
    for (std::uint64_t lap = 1; lap <= laps; ++lap) {
        if (world.rank() != 0) selion::wait_until(token.own(), lap);
        way.idle(delay);
        selion::notify(token.at(test.neighbour()), selion::signal_set(lap));
        if (world.rank() == 0) selion::wait_until(token.own(), lap);
    }
    test.equal(selion::read_signal(token.own()), std::uint64_t{laps});
    world.barrier();
}

/// Its owner may have given its memory back as soon as it has seen the value.
SPMD_TEST(signal, who_raises_one_leaves_the_rest_of_its_memory_alone) {
    if (!world.machine().capabilities.real_time) return;
    spmd::symmetric_array<selion::signal> bell(world, 2);
    constexpr std::uint32_t others = 12345;  // no doorbell has such a number
    bell.mine()[0].word().sleeper = others;
    world.barrier();
    if (world.rank() % 2 == 0) {
        for (int i = 0; i < 1000; ++i) {
            selion::notify(bell.at(test.neighbour(), 0), selion::signal_add(1));
            // Now and then somebody sleeps.
            test.that(!selion::wait_until(bell.own(1), 1, 100us), "nobody raises this one");
        }
    } else {
        test.that(!selion::wait_until(bell.own(1), 1, 50ms), "nobody raises this one");
    }
    world.barrier();
    test.equal(bell.mine()[0].word().sleeper, others);
    world.barrier();
}

/// A limit beyond the end of the clock is none: who waits so long waits until it comes.
SPMD_TEST(signal, a_wait_may_take_as_long_as_can_be_said) {
    constexpr std::chrono::nanoseconds longest = std::chrono::nanoseconds::max();
    spmd::symmetric_array<selion::signal> token(world, 1);
    spmd::symmetric_array<selion::counter> arrived(world, 1);
    spmd::symmetric_array<std::uint64_t> cells(world, 1);
    const spmd::way_giver way(world);
    const auto await_both = [&] {
        test.that(selion::wait_until(token.own(), 1, longest), "the signal is waited for");
        test.that(arrived.mine()->wait(1, longest), "the counter is waited for");
    };
    if (world.rank() != 0) await_both();
    way.idle(1ms);
    selion::notify(token.at(test.neighbour()), selion::signal_set(1));
    way.idle(1ms);
    selion::put(cells.at(test.neighbour()), std::uint64_t{1},
                {.target = arrived.at(test.neighbour())});
    if (world.rank() == 0) await_both();
    auto answer = selion::rpc(test.neighbour(), [] { return 5; });
    test.that(answer.wait(longest), "the answer is waited for");
    test.equal(answer.get(), 5);
    world.barrier();
}

SPMD_TEST(signal, sleepers_of_a_collective_are_woken) {
    const spmd::way_giver way(world);
    for (std::uint32_t late = 0; late < std::min(world.size(), 4u); ++late) {
        if (world.rank() == late) way.idle(5ms);
        world.barrier();
    }
}

SPMD_TEST(signal, a_wait_asks_for_at_least) {
    spmd::symmetric_array<selion::signal> bell(world, 1);
    selion::notify(bell.at(test.neighbour()), selion::signal_set(1000));
    selion::wait_until(bell.own(), 3);
    selion::wait_until(bell.own(), 1000);
    test.equal(selion::read_signal(bell.own()), 1000u);
    world.barrier();
}

/// A word for each rank, which that rank raises: whoever comes is seen to, in any order.
SPMD_TEST(signal, any_of_several_is_waited_for) {
    spmd::symmetric_array<selion::signal> from(world, world.size());
    const std::uint64_t rounds = test.rounds(400 / world.size() + 1, 2);
    std::vector<selion::awaited_signal> wanted;
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) wanted.push_back({from.own(rank)});
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        for (std::uint32_t d = 0; d < world.size(); ++d) {
            selion::notify(from.at(test.neighbour(d), world.rank()), selion::signal_add(1));
        }
        for (std::uint32_t seen = 0; seen < world.size(); ++seen) {
            const std::size_t which = selion::wait_any(wanted);
            test.that(which < wanted.size(), "one of them");
            test.at_least(selion::read_signal(from.own(which)), round);
            ++wanted[which].at_least;
        }
        world.barrier();
    }
    for (const selion::awaited_signal& one : wanted) test.equal(one.at_least, rounds + 1);
}

SPMD_TEST(signal, the_lowest_of_those_that_are_there_is_told) {
    spmd::symmetric_array<selion::signal> bells(world, 20);
    std::vector<selion::awaited_signal> wanted;
    for (std::uint32_t i = 0; i < 20; ++i) wanted.push_back({bells.own(i), 5});
    test.equal(selion::wait_any(wanted, 0ns), wanted.size());
    test.equal(selion::wait_any(wanted, 300us), wanted.size());
    world.barrier();
    const spmd::way_giver way(world);
    if (world.rank() == 0) way.idle(5ms);  // the others sleep, on the last of them as well
    for (const std::uint32_t i : {19u, 7u}) {
        selion::notify(bells.at(test.neighbour(), i), selion::signal_set(5));
    }
    const std::size_t first = selion::wait_any(wanted, 50s);
    test.that(first == 19 || first == 7, "one of those that were raised");
    world.barrier();
    test.equal(selion::wait_any(wanted), std::size_t{7});
    wanted[7].at_least = 6;
    test.equal(selion::wait_any(wanted), std::size_t{19});
    world.barrier();
}

SPMD_TEST(signal, a_loop_of_tests_serves_others_and_comes_to_its_end) {
    spmd::symmetric_array<selion::signal> bell(world, 2);
    test.that(selion::test(bell.own(1), 0), "zero is there from the start");
    test.that(!selion::test(bell.own(1), 1), "and no more");
    // The neighbour looks for a signal as well, and rings only when it has been served a call.
    const auto back = bell.at(world.rank());
    selion::rpc_oneway(
        test.neighbour(),
        [](selion::global_ptr<selion::signal> to) { selion::notify(to, selion::signal_add(3)); },
        back);
    while (!selion::test(bell.own(), 3)) {
    }
    test.that(!selion::test(bell.own(), 4), "it is three");
    world.barrier();
}

}  // namespace
