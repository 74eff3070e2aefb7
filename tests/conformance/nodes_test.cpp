// SPDX-License-Identifier: Apache-2.0
/// Collectives of ranks on several nodes: what goes from node to node is counted, by the meter of
/// messages. What the collectives come to is told by the tests of each.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "conformance/spmd.hpp"

namespace {

using enum selion::collective_kind;
using selion::collective_choice;
using selion::collective_way;

constexpr int times = 16;

/// Messages of all ranks, for one call.
template <class Call>
double messages_of(selion::world& world, const Call& call) {
    call();  // what the first one introduces
    selion::meter sent("sent", "messages");
    world.barrier();
    sent.start();
    for (int i = 0; i < times; ++i) call();
    sent.stop();
    const auto all = world.all_reduce(static_cast<std::uint64_t>(sent.value()), selion::plus);
    return static_cast<double>(all) / times;
}

/// Nodes of a job, and what it costs to let them know of something.
struct node_shape {
    std::uint32_t nodes = 0;
    std::uint32_t rounds = 0;     ///< in which all nodes hear of each other
    std::uint32_t crossings = 0;  ///< from node to node, in the binomial tree of all ranks
};

node_shape shape_of(selion::world& world) {
    const selion::team near = world.split(selion::locality::node);
    std::vector<std::uint32_t> firsts(world.size());
    const std::uint32_t first = near.world_rank(0);
    world.all_gather(std::span(&first, 1), std::span(firsts));
    node_shape shape;
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
        if (firsts[rank] == rank) ++shape.nodes;
        const std::uint32_t parent = rank & (rank - 1);
        if (rank != 0 && firsts[parent] != firsts[rank]) ++shape.crossings;
    }
    while ((1u << shape.rounds) < shape.nodes) ++shape.rounds;
    return shape;
}

bool goes_by_nodes(selion::world& world) {
    return world.explain(barrier, 0).choice.way == collective_way::nodes;
}

/// The checking build tells all members what member 0 calls, along the tree of all: a letter for
/// each crossing, and credits for every other one.
double of_checks(const node_shape& shape) {
    return SELION_CHECK_LEVEL >= 2 ? 1.5 * shape.crossings + 1.0 / times : 0;
}

SPMD_TEST(nodes, no_more_goes_from_node_to_node_than_hierarchical_collectives_need) {
    if (!goes_by_nodes(world)) return test.skip("not some ranks share memory, and some do not");
    const node_shape shape = shape_of(world);
    const double checks = of_checks(shape);
    const double swaps = shape.nodes * shape.rounds;
    test.at_least(swaps + checks, messages_of(world, [&] { world.barrier(); }));
    const bool is_power = (shape.nodes & (shape.nodes - 1)) == 0;
    const double folded = is_power ? 0 : 2.0 * shape.nodes;
    test.at_least(swaps + folded + checks, messages_of(world, [&] {
                      static_cast<void>(world.all_reduce(world.rank(), selion::plus));
                  }));
    // Before every eighth broadcast at most all meet, or every 64th.
    std::vector<std::byte> data(8);
    test.at_least(shape.nodes - 1 + swaps / 8 + checks,
                  messages_of(world, [&] { world.broadcast(std::span(data), world.size() - 1); }));
}

SPMD_TEST(nodes, a_barrier_sends_one_signal_for_each_node_and_round) {
    if (!goes_by_nodes(world)) return test.skip("not some ranks share memory, and some do not");
    if (SELION_CHECK_LEVEL >= 2) return test.skip("the checking build sends messages of its own");
    const node_shape shape = shape_of(world);
    test.equal(messages_of(world, [&] { world.barrier(); }), 1.0 * shape.nodes * shape.rounds);
}

/// Numbers of a team need not follow the nodes.
SPMD_TEST(nodes, teams_in_any_order_come_to_the_same) {
    std::vector<selion::team_rank> alternating;
    for (std::uint32_t start = 0; start < 2; ++start) {
        for (std::uint32_t rank = start; rank < world.size(); rank += 2) {
            alternating.emplace_back(rank);
        }
    }
    const selion::team mixed = world.subteam(alternating);
    const selion::team backward = world.split(0u, -static_cast<std::int64_t>(world.rank()));
    for (const selion::team& team : {mixed, backward}) {
        for (std::uint32_t turn = 0; turn < 40; ++turn) {
            const std::uint32_t size = team.size();
            test.equal(team.all_reduce(team.rank() + turn, selion::plus),
                       size * (size - 1) / 2 + size * turn);
            test.equal(team.broadcast(team.rank() * 7 + turn, turn % size), turn % size * 7 + turn);
            if (turn % 3 == 0) team.barrier();
        }
    }
}

/// Roots run ahead, lengths change, and other ways come between.
SPMD_TEST(nodes, ways_follow_each_other) {
    const std::uint32_t size = world.size();
    for (std::uint32_t turn = 0; turn < test.rounds(2000, 40); ++turn) {
        const std::uint32_t root = turn / 5 % size;
        const std::size_t count = std::size_t{1} << turn * 7 % 15;
        if (turn % 3 == 0) {
            const auto way = turn % 2 == 0 ? collective_way::nodes : collective_way::messages;
            world.choose(all_reduce, collective_choice{
                                         way, {.algorithm = selion::schedule_algorithm::k_nomial}});
        }
        std::vector<std::uint32_t> data(count, world.rank() == root ? turn : 0);
        world.broadcast(std::span(data), root);
        test.equal(data.front(), turn);
        test.equal(data.back(), turn);
        if (turn % 4 != 0) continue;
        std::vector<std::uint64_t> sums(1 + turn % 200, world.rank());
        world.all_reduce(std::span(sums), selion::plus);
        test.equal(sums.front(), std::uint64_t{size} * (size - 1) / 2);
        test.equal(sums.back(), std::uint64_t{size} * (size - 1) / 2);
    }
    world.choose(all_reduce, {});
}

}  // namespace
