// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/cost_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "collectives/tuning/model_ways.hpp"
#include "selion/tuning.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Numbers whose sums tell what they are made of.
constexpr host_costs host{.signal = 1000,
                          .line = 1,
                          .arrival = 10,
                          .copy = 100'000,
                          .combine = 300'000,
                          .lend = 20'000,
                          .turn = 50};

double predicted(const char* way, collective_kind what, std::size_t bytes, team_shape team) {
    return predicted_ns(host, team, {what, bytes}, choice_of(way));
}

TEST(cost_model, a_message_over_lines_is_two_lines_and_a_signal) {
    EXPECT_DOUBLE_EQ(predicted("lines:chain", broadcast, 8, {2, 2}), 1002 + 100'000.0 * 8 / 1024);
    EXPECT_DOUBLE_EQ(predicted("lines:chain", barrier, 0, {1, 1}), 0);
}

/// Member 0 sends to 2 and then to 1, and 2 to 3.
TEST(cost_model, a_tree_takes_as_long_as_its_longest_way) {
    const double hop = 1002;
    const double own = 100'000.0 * 8 / 1024;
    EXPECT_DOUBLE_EQ(predicted("lines:k_nomial:2", broadcast, 8, {4, 4}), 2 * (hop + own));
}

/// Who has lent data goes on when they have been read and it has heard of it.
TEST(cost_model, a_lender_waits_for_its_reader) {
    EXPECT_DOUBLE_EQ(predicted("lines:chain", broadcast, 4096, {2, 2}),
                     1 + 5 * 20'000 + 1000 + 1 + 4 * 100'000 + 1000);
}

TEST(cost_model, segments_shorten_a_chain) {
    const team_shape team{8, 8};
    EXPECT_LT(predicted("lines:chain/8", broadcast, 1 << 20, team),
              0.5 * predicted("lines:chain", broadcast, 1 << 20, team));
}

TEST(cost_model, a_meeting_is_an_arrival_of_each_and_a_signal) {
    EXPECT_DOUBLE_EQ(predicted("slots", barrier, 0, {4, 4}), 4 * 10 + 1000);
    EXPECT_DOUBLE_EQ(predicted("slots", barrier, 0, {8, 2}), 8 * 10 + 1000 + 4 * 50);
}

TEST(cost_model, parts_of_a_slot_meet_each) {
    const double whole = predicted("slots", broadcast, 32 << 10, {2, 2});
    const double quarters = predicted("slots:8192", broadcast, 32 << 10, {2, 2});
    EXPECT_DOUBLE_EQ(quarters - whole, 3 * (2 * 10 + 1000 + 2));
}

TEST(cost_model, a_board_reads_a_line_of_each) {
    EXPECT_DOUBLE_EQ(predicted("board", barrier, 0, {4, 4}), 1 + 3 + 1000);
}

/// Between processes each block costs a call to the kernel, which serves those who want the root's
/// memory one after the other.
TEST(cost_model, blocks_of_other_processes_cost_calls) {
    host_costs calling = host;
    calling.call = 7;
    calling.read = 500'000;
    const auto extra = [&](collective_kind what, bool is_one_process) {
        const team_shape team{.members = 4, .processors = 4, .is_one_process = is_one_process};
        const collective_choice direct = choice_of("direct");
        return predicted_ns(calling, team, {what, 1024}, direct) -
               predicted_ns(calling, team, {what, 0}, direct);
    };
    EXPECT_DOUBLE_EQ(extra(exchange, true), 4 * 100'000);
    EXPECT_DOUBLE_EQ(extra(exchange, false), 4 * 500'000);
    EXPECT_DOUBLE_EQ(extra(gather, true), 100'000);
    EXPECT_DOUBLE_EQ(extra(gather, false), 500'000);
    const team_shape apart{.members = 4, .processors = 4};
    const team_shape together{.members = 4, .processors = 4, .is_one_process = true};
    const auto with_calls = [&](collective_kind what) {
        return predicted_ns(calling, apart, {what, 0}, choice_of("direct")) -
               predicted_ns(calling, together, {what, 0}, choice_of("direct"));
    };
    EXPECT_DOUBLE_EQ(with_calls(exchange), 3 * 7);
    EXPECT_DOUBLE_EQ(with_calls(gather), 3 * 7);
    EXPECT_DOUBLE_EQ(with_calls(scatter), 3 * 7);
    EXPECT_DOUBLE_EQ(with_calls(broadcast), 0);
}

TEST(cost_model, who_gets_reads_a_line_of_each_and_who_gives_shows_one) {
    EXPECT_DOUBLE_EQ(predicted("board", broadcast, 0, {8, 8}), 1002);
    EXPECT_DOUBLE_EQ(predicted("board", reduce, 0, {3, 3}), 1 + 2 + 1000);
}

/// Those of which every collective has some; and those of lines where all have a processor.
TEST(cost_model, every_way_takes_some_time_and_longer_with_fewer_processors) {
    for (std::size_t what = 0; what < collective_kinds; ++what) {
        const auto kind = static_cast<collective_kind>(what);
        for (const schedule_algorithm algorithm : algorithms_for(kind)) {
            const std::string way = "lines:" + std::string(name_of(algorithm));
            for (std::uint32_t members : {2u, 3u, 4u, 5u, 8u, 9u, 16u}) {
                const double alone = predicted(way.c_str(), kind, 1000, {members, members});
                const double shared = predicted(way.c_str(), kind, 1000, {members, 1});
                EXPECT_GT(alone, 0) << way << " " << name_of(kind) << " " << members;
                EXPECT_GE(shared, alone) << way << " " << name_of(kind) << " " << members;
            }
        }
    }
}

TEST(cost_model, ways_that_are_looked_at_can_be_predicted) {
    for (std::size_t what = 0; what < collective_kinds; ++what) {
        const auto kind = static_cast<collective_kind>(what);
        for (std::uint32_t members = 2; members <= 20; ++members) {
            for (const std::uint32_t processors : {1u, 2u, members}) {
                const team_shape team{members, processors, processors < members, true};
                for (const std::size_t bytes : {0u, 8u, 112u, 4096u, 1u << 20}) {
                    for (const collective_choice& one : ways_to_predict({kind, bytes}, team)) {
                        EXPECT_GT(predicted_ns(host, team, {kind, bytes}, one), 0)
                            << text_of(one) << " " << name_of(kind) << " " << members;
                    }
                }
            }
        }
    }
}

TEST(cost_model, long_messages_between_processes_are_not_looked_at) {
    const auto goes_over_lines = [](std::size_t bytes, bool is_one_process) {
        const auto ways = ways_to_predict({broadcast, bytes}, {8, 8, false, is_one_process});
        return std::ranges::any_of(
            ways, [](const collective_choice& one) { return one.way == collective_way::lines; });
    };
    EXPECT_TRUE(goes_over_lines(112, false));
    EXPECT_FALSE(goes_over_lines(113, false));
    EXPECT_TRUE(goes_over_lines(113, true));
}

// Members on several nodes.

const host_costs& network = built_in_costs("fabric");

std::string best_between(const node_map& nodes, collective_kind what, std::size_t bytes) {
    const std::uint32_t members = nodes.end_of(nodes.nodes() - 1);
    const team_shape team{.members = members, .processors = members, .nodes = &nodes};
    std::string best;
    double least = std::numeric_limits<double>::max();
    for (const collective_choice& one : ways_to_predict({what, bytes}, team)) {
        const double ns = predicted_ns(network, team, {what, bytes}, one);
        EXPECT_GT(ns, 0) << text_of(one);
        if (ns < least) best = text_of(one);
        least = std::min(least, ns);
    }
    return best;
}

TEST(cost_model, nodes_meet_in_their_memory_and_send_little) {
    for (const auto& nodes : {node_map({0, 4}, 8), node_map({0, 3}, 5), node_map({0, 1, 6}, 9),
                              node_map({0, 2, 4}, 5)}) {
        EXPECT_EQ(best_between(nodes, barrier, 0), "nodes");
        EXPECT_EQ(best_between(nodes, all_reduce, 8), "nodes");
        EXPECT_EQ(best_between(nodes, broadcast, 8), "nodes");
        EXPECT_EQ(best_between(nodes, broadcast, 65536), "nodes");
        EXPECT_EQ(best_between(nodes, all_reduce, 4096), "messages:k_nomial:2");
    }
}

/// The same edges cost more where they cross nodes, and a tree of the nodes has fewer of those.
TEST(cost_model, messages_between_nodes_cost_more) {
    const node_map together({0, 4}, 8);
    const node_map apart({0, 1, 2, 3, 4, 5, 6, 7}, 8);
    const auto ns_on = [&](const node_map& nodes, const char* way) {
        const team_shape team{.members = 8, .processors = 8, .nodes = &nodes};
        return predicted_ns(network, team, {broadcast, 65536}, choice_of(way));
    };
    EXPECT_GT(ns_on(apart, "messages:k_nomial:2"), ns_on(together, "messages:k_nomial:2"));
    EXPECT_GT(ns_on(together, "messages:k_nomial:2"), ns_on(together, "nodes"));
    EXPECT_GT(ns_on(together, "messages:flat"), ns_on(together, "messages:hierarchical:2:4"));
}

TEST(cost_model, is_built_in_for_every_kind_of_machine) {
    for (const char* const machine : {"threads", "fibers", "processes", "hybrid", "fabric"}) {
        const host_costs& known = built_in_costs(machine);
        for (const double cost : {known.signal, known.line, known.arrival, known.copy,
                                  known.combine, known.lend, known.turn}) {
            EXPECT_GT(cost, 0) << machine;
        }
    }
}

}  // namespace
}  // namespace selion::collectives
