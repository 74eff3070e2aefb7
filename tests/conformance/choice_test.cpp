// SPDX-License-Identifier: Apache-2.0
/// `team::choose`: calls of a program go the way that it has chosen, and what is not legal is
/// refused.
#include <array>
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

/// Members alone on their thread, and members that share one, meet equally often.
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

}  // namespace
