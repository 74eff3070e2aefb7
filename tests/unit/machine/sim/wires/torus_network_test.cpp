// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/torus_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "unit/machine/sim/wires/network_bed.hpp"

namespace selion::machine::sim {
namespace {

torus_model rack(std::vector<std::uint32_t> sides, bool wraps_around = true) {
    torus_model model;
    model.sides = std::move(sides);
    model.wraps_around = wraps_around;
    model.entry = 700;
    model.hop = 100;
    model.per_byte = rate::from_ticks(2.5);
    return model;
}

std::uint32_t nodes_of(const torus_model& model) {
    std::uint32_t nodes = 1;
    for (const std::uint32_t side : model.sides) nodes *= side;
    return nodes;
}

ticks hops(const torus_model& model, std::uint32_t from, std::uint32_t to) {
    std::uint32_t sum = 0;
    for (const std::uint32_t side : model.sides) {
        const std::uint32_t here = from % side;
        const std::uint32_t there = to % side;
        const std::uint32_t straight = here < there ? there - here : here - there;
        sum += model.wraps_around ? std::min(straight, side - straight) : straight;
        from /= side;
        to /= side;
    }
    return sum;
}

void deliver(const torus_model& model, std::deque<sample>& all,
             const std::vector<std::uint32_t>& node_of_rank = {}) {
    const auto ranks =
        node_of_rank.empty() ? nodes_of(model) : static_cast<std::uint32_t>(node_of_rank.size());
    network_bed bed(ranks, make_torus_network(model, nodes_of(model), node_of_rank));
    bed.deliver(all);
}

TEST(torus_network_test, an_undisturbed_message_takes_entry_hops_and_bytes) {
    for (const bool wraps_around : {true, false}) {
        const torus_model model = rack({3, 4, 2}, wraps_around);
        std::deque<sample> all;  // far apart in time
        for (std::uint32_t from = 0; from < 24; ++from) {
            for (std::uint32_t to = 0; to < 24; ++to) {
                all.emplace_back(ticks{10000} * static_cast<ticks>(all.size()), from, to, 1000);
            }
        }
        deliver(model, all);
        for (const sample& what : all) {
            EXPECT_EQ(what.arrivals, 1U);
            EXPECT_EQ(what.arrived - what.sent, 700 + 100 * hops(model, what.from, what.to) + 2500)
                << what.from << " to " << what.to;
        }
    }
}

TEST(torus_network_test, a_link_carries_one_message_at_a_time_in_the_order_of_their_heads) {
    const torus_model model = rack({8}, false);
    std::deque<sample> all;
    all.emplace_back(0, 0, 3, 1000);   // its head is at node 1 at 800, at node 2 at 900
    all.emplace_back(150, 1, 3, 400);  // at its own node's link at 850
    all.emplace_back(20, 1, 2, 40);    // at 720
    deliver(model, all);
    EXPECT_EQ(all[2].arrived, 720 + 100 + 100);
    EXPECT_EQ(all[0].arrived, 820 + 100 + 100 + 2500);  // waited 20 for the small one
    EXPECT_EQ(all[1].arrived, 820 + 2500 + 200 + 1000);
}

TEST(torus_network_test, a_waiting_message_blocks_nobody_else) {
    const torus_model model = rack({8}, false);
    std::deque<sample> all;
    all.emplace_back(0, 2, 3, 10000);  // keeps the link from 2 to 3 busy until 25,700
    all.emplace_back(1, 1, 3, 100);    // waits for it
    all.emplace_back(2, 1, 2, 100);    // only shares the link from 1 to 2 with the second
    deliver(model, all);
    EXPECT_EQ(all[1].arrived, 25700 + 100 + 250);
    EXPECT_EQ(all[2].arrived, 701 + 250 + 100 + 250);
}

TEST(torus_network_test, the_port_is_taken_for_the_gap_at_both_ends) {
    torus_model model = rack({8}, false);
    model.gap = 400;
    std::deque<sample> all;
    all.emplace_back(0, 0, 1, 8);
    all.emplace_back(0, 0, 2, 8);
    all.emplace_back(10, 3, 2, 8);
    deliver(model, all);
    EXPECT_EQ(all[0].arrived, 700 + 100 + 20);
    EXPECT_EQ(all[2].arrived, 10 + 700 + 100 + 20);
    EXPECT_EQ(all[1].arrived, 400 + 700 + 200 + 20);  // at the target 1300 - 810 after the other

    std::deque<sample> close;
    close.emplace_back(0, 1, 2, 8);
    close.emplace_back(10, 3, 2, 8);
    deliver(model, close);
    EXPECT_EQ(close[1].arrived, 800 + 400 + 20);
}

TEST(torus_network_test, ranks_of_a_node_share_its_links) {
    const torus_model model = rack({4}, false);
    std::deque<sample> all;
    all.emplace_back(0, 0, 5, 100);  // node 0 to node 2
    all.emplace_back(0, 1, 4, 100);  // likewise, from the other rank of node 0
    all.emplace_back(0, 6, 7, 100);  // within node 3
    deliver(model, all, {0, 0, 1, 1, 2, 2, 3, 3});
    EXPECT_EQ(all[0].arrived, 700 + 200 + 250);
    EXPECT_EQ(all[1].arrived, 700 + 200 + 500);
    EXPECT_EQ(all[2].arrived, 700 + 250);
}

TEST(torus_network_test, a_short_message_stays_behind_a_long_one_of_its_pair) {
    torus_model model = rack({4}, false);
    model.gap = 400;
    std::deque<sample> all;
    all.emplace_back(0, 0, 1, 4000);  // within node 0
    all.emplace_back(1, 0, 1, 4);
    for (ticks i = 0; i < 8; ++i) all.emplace_back(600 + i, 4, 5, 4);  // keep node 2's port busy
    all.emplace_back(0, 2, 4, 2000);                                   // node 1 to node 2
    all.emplace_back(1, 2, 4, 4);
    deliver(model, all, {0, 0, 1, 1, 2, 2});
    EXPECT_GE(all[1].arrived, all[0].arrived);
    EXPECT_GE(all[11].arrived, all[10].arrived);
}

TEST(torus_network_test, a_large_rack_delivers_all_once_and_names_its_busiest_link) {
#if defined(__SANITIZE_THREAD__)
    constexpr std::uint32_t side = 8;  // it follows 8,128 stacks at most
#else
    constexpr std::uint32_t side = 16;
#endif
    constexpr std::uint32_t nodes = side * side * side;
    constexpr std::uint32_t ranks = nodes * 4;
    const torus_model model = rack({side, side, side});
    std::vector<std::uint32_t> node_of_rank(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) node_of_rank[rank] = rank / 4;
    std::mt19937_64 random(3);
    std::deque<sample> all;
    for (int i = 0; i < 20000; ++i) {
        all.emplace_back(random() % 100000, random() % ranks, random() % ranks, random() % 4000);
    }
    for (std::uint32_t i = 0; i < 50; ++i) all.emplace_back(0, 0, 4, 100000);  // node 0 to node 1
    network_bed bed(ranks, make_torus_network(model, nodes, node_of_rank));
    bed.deliver(all);
    ticks hops_of_all = 0;
    ticks slowest = 0;
    for (const sample& what : all) {
        ASSERT_EQ(what.arrivals, 1U);
        const ticks far = hops(model, node_of_rank[what.from], node_of_rank[what.to]);
        const ticks alone = 700 + 100 * far + model.per_byte.of(what.bytes);
        EXPECT_GE(what.arrived - what.sent, alone);
        hops_of_all += far;
        slowest = std::max(slowest, what.arrived);
    }
    const std::vector<link_use> links = bed.wires().links();
    EXPECT_EQ(links[0].name, "(0,0,0) up in dimension 0");
    EXPECT_GE(links[0].bytes, 50U * 100000);
    std::uint64_t carried = 0;
    for (const link_use& link : links) {
        EXPECT_LE(link.busy, slowest) << link.name;
        if (link.name.find("dimension") != std::string::npos) carried += link.messages;
    }
    EXPECT_EQ(carried, static_cast<std::uint64_t>(hops_of_all));
}

}  // namespace
}  // namespace selion::machine::sim
