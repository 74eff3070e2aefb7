// SPDX-License-Identifier: Apache-2.0
/// Collectives that are started: the same results as those that block, many under way, ranks that
/// pass on what comes while they wait for something else.
#include <selion/selion.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

/// An operation that does not commute: the text of all values, in their order, as far as it fits.
struct digits {
    std::uint64_t value = 0;
    std::uint64_t scale = 1;
};
constexpr auto append = [](const digits& left, const digits& right) {
    return digits{left.value * right.scale + right.value, left.scale * right.scale};
};
digits own_digit(const selion::world& world) { return {world.rank() % 7 + 1, 11}; }

SPMD_TEST(split_phase_collectives, values) {
    const selion::split_phase_collectives start = world.split_phase();
    const std::uint32_t ranks = world.size();
    const std::uint32_t rank = world.rank();
    const std::uint32_t last = ranks - 1;
    auto from_last = start.broadcast(rank + 5, last);
    auto sum = start.all_reduce(rank, selion::plus);
    auto at_last = start.reduce(1u, selion::plus, last);
    auto before = start.exscan(1u, selion::plus, 0u);
    auto upto = start.scan(1u, selion::plus);
    auto all = start.all_gather(rank * 3);
    auto gathered = start.gather(rank == 0, 0);
    test.equal(from_last.get(), last + 5);
    test.equal(sum.get(), ranks * last / 2);
    test.equal(at_last.get(), rank == last ? std::optional(ranks) : std::nullopt);
    test.equal(before.get(), rank);
    test.equal(upto.get(), rank + 1);
    const std::vector<std::uint32_t> blocks = all.get();
    for (std::uint32_t i = 0; i < ranks; ++i) test.equal(blocks[i], i * 3);
    const std::vector<bool> firsts = gathered.get();
    test.equal(firsts.size(), rank == 0 ? std::size_t{ranks} : 0);
    if (rank == 0) test.equal(bool{firsts[0]}, true);
}

std::vector<int> counted(std::size_t length, int from) {
    std::vector<int> all(length);
    std::iota(all.begin(), all.end(), from);
    return all;
}

/// From `from` to `to` go so many elements.
std::size_t amount(std::uint32_t from, std::uint32_t to) { return (from * 5 + to * 3) % 7 * 100; }

std::vector<std::size_t> amounts_from(std::uint32_t from, std::uint32_t ranks) {
    std::vector<std::size_t> all;
    for (std::uint32_t to = 0; to < ranks; ++to) all.push_back(amount(from, to));
    return all;
}
std::vector<std::size_t> amounts_to(std::uint32_t to, std::uint32_t ranks) {
    std::vector<std::size_t> all;
    for (std::uint32_t from = 0; from < ranks; ++from) all.push_back(amount(from, to));
    return all;
}
std::size_t sum_of(const std::vector<std::size_t>& all) {
    return std::accumulate(all.begin(), all.end(), std::size_t{0});
}
/// Each sender's blocks are filled with its number.
std::vector<int> numbered(const std::vector<std::size_t>& counts) {
    std::vector<int> all;
    for (std::size_t from = 0; from < counts.size(); ++from) {
        all.insert(all.end(), counts[from], static_cast<int>(from));
    }
    return all;
}

SPMD_TEST(split_phase_collectives, blocks_that_differ_in_length) {
    const selion::split_phase_collectives start = world.split_phase();
    const std::uint32_t ranks = world.size();
    const std::uint32_t rank = world.rank();
    const std::uint32_t last = ranks - 1;
    const auto to_each = amounts_from(rank, ranks);
    const auto from_each = amounts_to(rank, ranks);
    const auto to_last = amounts_to(last, ranks);
    const std::vector<int> sent(sum_of(to_each), static_cast<int>(rank));
    const std::vector<int> own(amount(rank, last), static_cast<int>(rank));
    std::vector<int> exchanged(sum_of(from_each));
    std::vector<int> gathered(rank == last ? sum_of(to_last) : 0);
    std::vector<int> everywhere(sum_of(to_last));
    const auto from_last = amounts_from(last, ranks);
    const std::vector<int> shares = rank == last ? numbered(from_last) : std::vector<int>{};
    std::vector<int> share(amount(last, rank));
    world.choose(selion::collective_kind::exchange,
                 selion::collective_choice{
                     selion::collective_way::messages,
                     {.algorithm = selion::schedule_algorithm::bruck}});  // has no such form
    auto first = start.exchangev(std::span(sent), std::span(to_each), std::span(exchanged),
                                 std::span(from_each));
    auto second =
        start.gatherv(std::span(own), std::span(gathered),
                      rank == last ? std::span(to_last) : std::span(to_last).first(0), last);
    auto third = start.all_gatherv(std::span(own), std::span(everywhere), std::span(to_last));
    auto fourth = start.scatterv(std::span(shares), std::span(from_last), std::span(share), last);
    fourth.get();
    third.get();
    second.get();
    first.get();
    test.equal(exchanged, numbered(from_each));
    if (rank == last) test.equal(gathered, numbered(to_last));
    test.equal(everywhere, numbered(to_last));
    test.equal(share, std::vector<int>(share.size(), static_cast<int>(rank)));
    test.equal(world.exchangev(std::span(sent), std::span(to_each)).values, exchanged);
    world.choose(selion::collective_kind::exchange, {});
}

SPMD_TEST(split_phase_collectives, spans_of_all_sizes) {
    const int ranks = static_cast<int>(world.size());
    const int rank = static_cast<int>(world.rank());
    for (const std::size_t length : {0, 1, 7, 1000, 40'000}) {
        if (world.size() > 8 && length > 1000) continue;
        const selion::split_phase_collectives start = world.split_phase();
        const std::size_t whole = length * world.size();
        std::vector<int> one = counted(length, rank == 0 ? 9 : 0);
        std::vector<int> sum = counted(length, rank);
        std::vector<int> parts(length);
        const std::vector<int> given = counted(whole, rank);
        std::vector<int> come(whole);
        std::vector<int> gathered(whole);
        std::vector<int> block(length);
        auto a = start.broadcast(std::span(one), 0);
        auto b = start.all_reduce(std::span(sum), selion::plus);
        auto c = start.reduce_scatter(given, std::span(parts), selion::plus);
        auto d = start.exchange(given, std::span(come));
        auto e = start.all_gather(std::span(given).first(length), std::span(gathered));
        auto f = start.scatter(given, std::span(block), world.size() - 1);
        selion::when_all(std::move(a), std::move(b), std::move(c), std::move(d), std::move(e),
                         std::move(f))
            .wait();
        test.equal(one, counted(length, 9));
        for (int i = 0; i < static_cast<int>(length); ++i) {
            const auto at = static_cast<std::size_t>(i);
            test.equal(sum[at], ranks * (ranks - 1) / 2 + ranks * i);
            test.equal(parts[at],
                       ranks * (rank * static_cast<int>(length) + i) + ranks * (ranks - 1) / 2);
            test.equal(block[at], ranks - 1 + rank * static_cast<int>(length) + i);
        }
        for (int from = 0; from < ranks; ++from) {
            for (std::size_t i = 0; i < length; i += 97) {
                const std::size_t at = static_cast<std::size_t>(from) * length + i;
                test.equal(gathered[at], from + static_cast<int>(i));
                test.equal(come[at], from + rank * static_cast<int>(length) + static_cast<int>(i));
            }
        }
    }
}

/// The association is the promised one, and operations need not commute.
SPMD_TEST(split_phase_collectives, order_is_that_of_the_ranks) {
    const digits blocking = world.all_reduce(own_digit(world), append);
    test.equal(world.split_phase().all_reduce(own_digit(world), append).get().value,
               blocking.value);
    const double small = 1.0 / (world.rank() + 3);
    test.equal(world.split_phase().all_reduce(small, selion::plus).get(),
               world.all_reduce(small, selion::plus));
}

std::uint64_t add_up(std::uint64_t left, std::uint64_t right) { return left + right; }

SPMD_TEST(split_phase_collectives, a_plain_function_is_an_operation) {
    test.equal(world.split_phase().all_reduce(std::uint64_t{2}, add_up).get(),
               std::uint64_t{2} * world.size());
}

/// A choice that cannot be carried out in two phases is none.
SPMD_TEST(split_phase_collectives, a_choice_for_others_changes_no_order) {
    const std::uint32_t root = world.size() - 1;
    const auto expected = world.reduce(own_digit(world), append, root);
    world.choose(selion::collective_kind::reduce,
                 selion::collective_choice{selion::collective_way::slots, {}});
    const auto started = world.split_phase().reduce(own_digit(world), append, root).get();
    world.choose(selion::collective_kind::reduce, std::nullopt);
    test.equal(started.has_value(), expected.has_value());
    if (expected) test.equal(started->value, expected->value);
}

SPMD_TEST(split_phase_collectives, many_under_way) {
    const int many = world.size() > 16 ? 20 : 50;
    std::vector<selion::future<std::uint32_t>> started;
    for (int i = 0; i < many; ++i) {
        const std::uint32_t root = static_cast<std::uint32_t>(i) % world.size();
        started.push_back(world.split_phase().broadcast(world.rank() * 100 + 1, root));
    }
    for (int i = many; i-- > 0;) {
        const std::uint32_t root = static_cast<std::uint32_t>(i) % world.size();
        test.equal(started[static_cast<std::size_t>(i)].get(), root * 100 + 1);
    }
}

/// While others have not come yet. What each start and message looks at: started_order's tests.
SPMD_TEST(split_phase_collectives, thousands_under_way) {
    if (world.size() > 4) return test.skip("tried with few ranks");
    constexpr std::uint32_t many = 6000;
    const auto go = selion::allocate<selion::signal>(world, 1);
    if (world.rank() != 0) selion::wait_until(go.on(world.rank()), 1);
    std::vector<selion::future<std::uint32_t>> started;
    for (std::uint32_t i = 0; i < many; ++i) {
        started.push_back(world.split_phase().all_reduce(i + world.rank(), selion::maximum));
    }
    for (std::uint32_t rank = 1; world.rank() == 0 && rank < world.size(); ++rank) {
        selion::notify(go.on(rank), selion::signal_add(1));
    }
    for (std::uint32_t i = many; i-- > 0;) {
        test.equal(started[i].get(), i + world.size() - 1);
    }
    selion::deallocate(world, go);
}

/// Ranks in the middle of a tree pass on what comes although they wait for a barrier first.
SPMD_TEST(split_phase_collectives, others_do_not_wait_for_this_rank) {
    auto sum = world.split_phase().all_reduce(1u, selion::plus);
    if (world.rank() % 2 == 0) {
        test.equal(sum.get(), world.size());
        world.barrier();
    } else {
        world.barrier();
        test.equal(sum.get(), world.size());
    }
}

SPMD_TEST(split_phase_collectives, teams_and_blocking_ones_between) {
    const selion::team half = world.split(world.rank() % 2);
    auto here = half.split_phase().all_reduce(world.rank(), selion::maximum);
    auto everywhere = world.split_phase().all_reduce(world.rank(), selion::maximum);
    test.equal(world.all_reduce(world.rank(), selion::maximum), world.size() - 1);
    test.equal(half.all_reduce(1u, selion::plus), half.size());
    test.equal(std::uint32_t{half.world_rank(half.size() - 1)}, here.get());
    test.equal(everywhere.get(), world.size() - 1);
}

/// A team stays until what it has started is over; a future may be let go.
SPMD_TEST(split_phase_collectives, handles_may_be_let_go) {
    std::vector<int> data(10, static_cast<int>(world.rank()));
    selion::future<> later;
    {
        const selion::team all = world.split(0);
        later = all.split_phase().broadcast(std::span(data), world.size() - 1);
        static_cast<void>(all.split_phase().all_reduce(1, selion::plus));
    }
    later.wait();
    test.equal(data[9], static_cast<int>(world.size() - 1));
}

SPMD_TEST(split_phase_collectives, barrier_shows_earlier_puts) {
    const auto place = selion::allocate<std::uint32_t>(world, 1);
    const std::uint32_t next = (world.rank() + 1) % world.size();
    for (std::uint32_t turn = 1; turn <= 5; ++turn) {
        selion::put(place.on(next), turn);
        world.split_phase().barrier().wait();
        test.equal(*place.on(world.rank()).local(), turn);
        world.split_phase().barrier().wait();
    }
    selion::deallocate(world, place);
}

SPMD_TEST(split_phase_collectives, strict_ones_meet) {
    const selion::team strict = world.with(selion::strict);
    for (int turn = 0; turn < 10; ++turn) {
        test.equal(strict.split_phase().broadcast(world.rank() + 1, 0).get(), 1u);
    }
}

/// Until all have come, what a member gives may be changed.
SPMD_TEST(split_phase_collectives, strict_ones_take_what_is_given_behind_the_entry) {
    const selion::team strict = world.with(selion::strict);
    spmd::symmetric_array<int> given(world, 1);
    spmd::symmetric_array<selion::signal> bell(world, 1);
    const std::uint32_t last = world.size() - 1;
    std::vector<int> all(world.size());
    *given.mine() = 1;
    world.barrier();
    if (world.rank() == last) selion::wait_until(bell.own(), last);
    if (world.rank() == last) selion::put(given.at(0), 42);
    selion::quiet();
    auto gathered =
        strict.split_phase().all_gather(std::span<const int>(given.mine(), 1), std::span(all));
    if (world.rank() != last) selion::notify(bell.at(last), selion::signal_add(1));
    gathered.wait();
    for (std::uint32_t i = 0; i < world.size(); ++i) test.equal(all[i], i == 0 ? 42 : 1);
    world.barrier();
}

/// Behind the exit, what a member has got is everybody's.
SPMD_TEST(split_phase_collectives, strict_ones_write_nothing_behind_the_exit) {
    const selion::team strict = world.with(selion::strict);
    const std::uint32_t last = world.size() - 1;
    constexpr std::size_t count = 5000;
    spmd::symmetric_array<double> values(world, count);
    const std::span<double> own(values.mine(), count);
    std::vector<double> given(world.size() * count, 1.0);
    const std::vector<double> later(count, -5.0);
    const auto look = [&](double otherwise) {
        if (world.rank() == last) selion::put(values.at(0), std::span<const double>(later));
        world.barrier();
        for (const std::size_t i : {std::size_t{0}, count - 1}) {
            test.equal(own[i], world.rank() == 0 ? -5.0 : otherwise);
        }
        world.barrier();
    };
    for (int turn = 0; turn < 5; ++turn) {
        strict.split_phase()
            .reduce_scatter(std::span<const double>(given), own, selion::plus)
            .wait();
        look(world.size() == 1 ? -5.0 : world.size());
        std::ranges::fill(own, 1.0);
        strict.split_phase().exscan(own, selion::plus, 7.0).wait();
        look(world.rank());
        std::ranges::fill(own, 1.0);
        strict.exscan(own, selion::plus, 7.0);
        look(world.rank());
    }
}

/// What passes on a message for others has no limit because the call has in which it does that.
SPMD_TEST(split_phase_collectives, outlive_the_time_of_others) {
    if (world.size() != 4 || !world.machine().capabilities.real_time) {
        test.skip("for four ranks in real time");
        return;
    }
    const selion::team other = world.split(0);
    std::vector<double> data(4 << 20, world.rank() == 0 ? 1.0 : 0.0);  // no machine has such room
    auto come = world.split_phase().broadcast(std::span(data), 0);
    if (world.rank() == 3) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    if (world.rank() == 2) {
        try {
            other.with_timeout(std::chrono::milliseconds(50)).barrier();
            test.fail("rank 3 has not come");
        } catch (const selion::error& why) {
            test.that(why.code() == selion::status::timed_out, why.what());
        }
    }
    come.get();
    test.equal(data.front(), 1.0);
    test.equal(data.back(), 1.0);
    world.barrier();
}

/// Nor does it hold up a wait that has a limit, until the other takes the message.
SPMD_TEST(split_phase_collectives, keep_to_the_time_of_waits) {
    const auto& host = world.machine();
    if (world.size() != 4 || host.carriers != 4 || !host.capabilities.shares_memory) {
        test.skip("for four ranks that run at the same time");
        return;
    }
    using std::chrono::milliseconds;
    spmd::symmetric_array<selion::signal> never(world, 1);
    spmd::symmetric_array<std::uint32_t> flag(world, 1);
    *flag.mine() = 0;
    world.barrier();
    std::vector<double> data(4 << 20, world.rank() == 0 ? 1.0 : 0.0);
    auto come = world.split_phase().broadcast(std::span(data), 0);
    if (world.rank() == 3) {  // serves nobody
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        const std::atomic_ref is_released(*flag.mine());
        while (is_released.load() == 0 && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(milliseconds(1));
        }
        test.equal(is_released.load(), 1u);
    }
    if (world.rank() == 2) {  // passes on to 3
        for (int turn = 0; turn < 10; ++turn) {
            test.that(!come.wait(milliseconds(20)), "rank 3 does not take it");
            static_cast<void>(selion::wait_until(never.own(), 1, milliseconds(20)));
        }
        selion::atomic_put(flag.at(3), 1u);
    }
    come.get();
    test.equal(data.back(), 1.0);
    world.barrier();
}

}  // namespace
