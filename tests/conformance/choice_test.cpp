// SPDX-License-Identifier: Apache-2.0
/// `team::choose`: calls of a program go the way that it has chosen, and what is not legal is
/// refused.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

using enum selion::collective_kind;
using enum selion::schedule_algorithm;
using selion::collective_choice;
using selion::collective_way;

/// Vectors that are cut into parts, with sums that are exact in any order.
void use_long(selion::world& world, spmd::test_run& test, std::size_t count) {
    if (world.size() > 16) return;
    const std::uint32_t rank = world.rank();
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = rank + static_cast<double>(i % 1000);
    world.all_reduce(std::span(values), selion::plus);
    const std::uint32_t size = world.size();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double sum = size * (size - 1) / 2 + size * static_cast<double>(i % 1000);
        if (values[i] != sum) ++wrong;
    }
    values.assign(count, rank);
    world.broadcast(std::span(values), size - 1);
    for (const double value : values) {
        if (value != size - 1) ++wrong;
    }
    test.equal(wrong, std::size_t{0});
}

/// Barriers keep their promise, and reductions and broadcasts come out right.
void use(selion::world& world, spmd::test_run& test, selion::global_ptr<std::uint32_t> cells,
         std::size_t longest = 70'001) {
    const std::uint32_t rank = world.rank();
    const std::uint32_t next = (rank + 1) % world.size();
    for (std::uint32_t turn = 1; turn <= 20; ++turn) {
        selion::put(cells.on(next), turn * 1000 + rank);
        world.barrier();
        const std::uint32_t before = (rank + world.size() - 1) % world.size();
        test.equal(selion::get(cells.on(rank)), turn * 1000 + before);
        test.equal(world.all_reduce(turn + rank, selion::maximum), turn + world.size() - 1);
        test.equal(world.broadcast(rank * turn, turn % world.size()), turn % world.size() * turn);
        world.barrier();
    }
    for (const std::size_t count : {3000u, 70'001u}) {
        if (count <= longest) use_long(world, test, count);
    }
}

SPMD_TEST(choice, of_the_program) {
    const auto cells = selion::allocate<std::uint32_t>(world, 1);
    const std::uint32_t radix = world.size() > 2 ? 3 : 2;
    for (const auto way :
         {collective_way::board, collective_way::slots, collective_way::direct,
          collective_way::lines, collective_way::messages, collective_way::nodes}) {
        for (const auto algorithm : {flat, k_nomial, chain}) {
            const collective_choice how{way, {.algorithm = algorithm, .radix = radix}};
            for (const auto what : {barrier, broadcast, all_reduce}) world.choose(what, how);
            // Where ranks are many, the longest vectors go each way by one algorithm only.
            const bool has_all = world.size() <= 8 || algorithm == k_nomial;
            use(world, test, cells, has_all ? 70'001 : 3000);
        }
    }
    world.choose(barrier, collective_choice{collective_way::lines,
                                            {.algorithm = dissemination, .radix = radix}});
    use(world, test, cells);
    for (const auto what : {barrier, broadcast, all_reduce}) world.choose(what, {});
    use(world, test, cells);
    selion::deallocate(world, cells);
}

bool refuses(const selion::world& world, selion::collective_kind what,
             const selion::schedule_request& schedule) {
    try {
        world.choose(what, collective_choice{collective_way::lines, schedule});
    } catch (const selion::error& trouble) {
        return trouble.code() == selion::status::bad_argument;
    }
    return false;
}

SPMD_TEST(choice, of_what_does_not_exist_is_refused) {
    test.that(refuses(world, barrier, {.algorithm = ring}), "a barrier has no ring");
    test.that(refuses(world, broadcast, {.algorithm = k_nomial, .radix = 1}), "radix 1");
}

/// Parts are whole elements, and whole lines of what is only moved, whatever has been asked for.
SPMD_TEST(choice, parts_may_be_asked_to_be_shorter_than_an_element) {
    const selion::team all = world.split(0);
    for (const std::uint32_t part_bytes : {1u, 12u}) {
        for (const auto what : {all_reduce, broadcast}) {
            all.choose(what, collective_choice{collective_way::slots, {}, part_bytes});
        }
        std::vector<double> values(500, world.rank());
        all.all_reduce(std::span(values), selion::plus);
        const std::uint32_t ranks = world.size();
        test.equal(std::ranges::count(values, ranks * (ranks - 1) / 2.0), std::ptrdiff_t{500});
        all.broadcast(std::span(values), 0);
        test.equal(values.back(), ranks * (ranks - 1) / 2.0);
    }
    world.barrier();
}

/// What a member has sent over lines stays as it was if its call ends in an error before others
/// have taken it. Who is late has its own limit: where calls are compared it waits for that.
SPMD_TEST(choice, what_went_over_lines_outlives_its_call) {
    const auto& can = world.machine().capabilities;
    if (world.size() < 2 || !can.shares_memory || !can.real_time) return;  // nobody would be late
    using std::chrono::milliseconds;
    spmd::symmetric_array<selion::signal> gone(world, 1);
    {
        const selion::team pair = world.split(world.rank() / 2);
        pair.choose(broadcast, collective_choice{collective_way::lines, {.algorithm = flat}});
        std::vector<std::uint64_t> data(20'000, 7);
        pair.broadcast(std::span(data), 0);  // makes the lines
        std::ranges::fill(data, pair.rank() == 0u ? 8 : 0);
        if (pair.size() == 2 && pair.rank() == 1u) selion::wait_until(gone.own(), 1);
        bool has_ended_early = false;
        try {
            pair.with_timeout(milliseconds(pair.rank() == 0u ? 20 : 200))
                .broadcast(std::span(data), 0);
        } catch (const selion::error& trouble) {
            has_ended_early = trouble.code() == selion::status::timed_out;
        }
        if (pair.size() == 2 && pair.rank() == 0u) {
            test.that(has_ended_early, "nobody takes it in time");
            std::ranges::fill(data, 9);
            selion::notify(gone.at(world.rank() + 1), selion::signal_set(1));
        } else {
            const auto expected = has_ended_early ? data.front() : std::uint64_t{8};
            test.that(has_ended_early || data.front() == 8, "it is what was sent");
            test.equal(std::ranges::count(data, expected), std::ptrdiff_t{20'000});
        }
    }
    world.barrier();
}

/// Copies for other processes and those for threads are made once, however often they are sent.
SPMD_TEST(choice, long_messages_over_lines_hold_no_more_memory_each_time) {
    if (!world.machine().capabilities.shares_memory || world.size() > 8) return;
    const selion::team all = world.split(0);
    all.choose(exchange, collective_choice{collective_way::lines, {.algorithm = pairwise}});
    std::vector<std::uint64_t> values(2'000 * std::size_t{world.size()}, world.rank());
    all.exchange(std::span(values), std::span(values));
    all.exchange(std::span(values), std::span(values));
    const std::uint64_t before = world.heap().runtime_bytes;
    for (int turn = 0; turn < 6; ++turn) all.exchange(std::span(values), std::span(values));
    test.equal(world.heap().runtime_bytes, before);
    world.barrier();
}

/// Members alone on their thread, and members that share one, meet equally often.
/// All but a little of the own heap.
class full_heap {
public:
    /// @param least that a piece is worth taking for.
    explicit full_heap(selion::world& world, std::size_t least = 4096) : world_(world) {
        for (std::size_t bytes = 1u << 20; bytes >= least; bytes /= 2) {
            try {
                while (true) pieces_.push_back(selion::allocate_local<std::byte>(world, bytes));
            } catch (const selion::error&) {
                continue;  // with smaller pieces
            }
        }
    }
    ~full_heap() {
        for (const auto one : pieces_) selion::deallocate_local(world_, one);
    }
    full_heap(const full_heap&) = delete;
    full_heap& operator=(const full_heap&) = delete;

private:
    selion::world& world_;
    std::vector<selion::global_ptr<std::byte>> pieces_;
};

/// @return how many numbers come out wrong where blocks of so many each are moved and combined.
std::size_t wrong_in_blocks(selion::world& world, std::size_t count) {
    const double rank = world.rank();
    std::vector<double> from_each(count * world.size(), rank);
    std::size_t wrong = 0;
    const auto compare = [&] {
        for (std::size_t i = 0; i < from_each.size(); ++i) {
            if (from_each[i] != static_cast<double>(i / count)) ++wrong;
        }
    };
    world.exchange(std::span(from_each), std::span(from_each));
    compare();
    std::ranges::fill(from_each, -1);
    world.all_gather(std::vector<double>(count, rank), std::span(from_each));
    compare();
    std::vector<double> sums(count, 1);
    world.scan(std::span(sums), selion::plus);
    for (const double sum : sums) wrong += sum != rank + 1 ? 1u : 0u;
    return wrong;
}

/// Neither those that the program has chosen to go over lines, nor those that go so of themselves
/// within the nodes of a network.
SPMD_TEST(choice, collectives_need_no_room_for_copies) {
    if (world.size() > 8 || !has_small_heap(test, world)) return;
    constexpr std::array kinds{exchange, all_gather, scan};
    for (const bool is_chosen : {false, true}) {
        for (const auto what : kinds) {
            const auto algorithm = what == scan ? binary : pairwise;
            const collective_choice lines{collective_way::lines, {.algorithm = algorithm}};
            if (is_chosen) world.choose(what, lines);
        }
        test.equal(wrong_in_blocks(world, 3), std::size_t{0});  // and the ends of lines are made
        const full_heap full(world);
        world.barrier();
        for (int turn = 0; turn < 3; ++turn) {
            test.equal(wrong_in_blocks(world, 20'000), std::size_t{0});
        }
        world.barrier();
    }
    for (const auto what : kinds) world.choose(what, std::nullopt);
}

/// What it says is what the next call does.
SPMD_TEST(choice, explained_is_another_way_where_there_is_no_room_for_lines) {
    constexpr std::size_t count = 8192;
    const selion::team all = world.split(0);
    const auto explained = [&] { return all.explain(scan, count * sizeof(double)).choice.way; };
    if (explained() != collective_way::lines || !has_small_heap(test, world)) return;
    {
        const full_heap full(world, 128);
        std::vector<double> sums(count, 1);
        all.scan(std::span(sums), selion::plus);
        test.equal(sums.back(), world.rank() + 1.0);
        test.that(explained() != collective_way::lines, "there are none");
    }
    world.barrier();
}

/// Members that have introduced themselves, to one that does not come.
SPMD_TEST(choice, lines_that_time_out_as_they_are_made_hold_no_memory) {
    const auto& can = world.machine().capabilities;
    if (world.size() < 2 || !can.shares_memory || !can.real_time) return;
    spmd::end_teams(world);
    const std::uint64_t before = world.heap().runtime_bytes;
    for (int turn = 0; turn < 3; ++turn) {
        const selion::team all = world.split(0);
        all.choose(reduce, collective_choice{collective_way::lines, {.algorithm = k_nomial}});
        if (world.rank() == 0u) continue;
        bool has_timed_out = false;
        try {
            static_cast<void>(
                all.with_timeout(std::chrono::milliseconds(5)).reduce(1, selion::plus, 0));
        } catch (const selion::error& trouble) {
            has_timed_out = trouble.code() == selion::status::timed_out;
        }
        test.that(has_timed_out, "one does not come");
    }
    spmd::end_teams(world);
    test.equal(world.heap().runtime_bytes, before);
}

SPMD_TEST(choice, explained_of_more_than_there_can_be) {
    for (const auto what : {exchange, all_gather, reduce_scatter, broadcast}) {
        const auto found = world.explain(what, std::size_t{1} << 63);
        test.that(found.choice.way != collective_way::board, "it is too long for a line");
    }
}

SPMD_TEST(choice, parts_where_some_members_share_a_thread) {
    if (world.size() < 3) return;
    std::vector<selion::team_rank> most;
    for (std::uint32_t rank = 0; rank + 1 < world.size(); ++rank) most.emplace_back(rank);
    const selion::team team = world.subteam(most);
    if (!team.is_member()) return;
    team.choose(all_reduce, collective_choice{collective_way::slots, {}, 64});
    const std::uint32_t members = team.size();
    for (int round = 0; round < 4; ++round) {
        std::vector<double> values(64, team.rank());
        team.all_reduce(std::span(values), selion::plus);
        test.equal(values.front(), members * (members - 1) / 2.0);
        test.equal(values.back(), members * (members - 1) / 2.0);
    }
    team.barrier();
}

/// So short a block is never read where it lies, so nobody predicts how long that would take.
SPMD_TEST(choice, what_is_predicted_is_possible) {
    for (const auto what : {broadcast, all_reduce, gather, exchange}) {
        const auto found = world.explain(what, 8);
        if (found.is_measured) continue;
        for (const selion::timed_choice& one : found.candidates) {
            test.that(one.choice.way != collective_way::direct, "a short block goes another way");
        }
    }
    world.barrier();
}

}  // namespace
