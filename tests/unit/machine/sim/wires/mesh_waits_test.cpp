// SPDX-License-Identifier: Apache-2.0
// What links and cores wait for each other, against cases that can be worked out by hand: an entry
// and a hop take three ticks, a slot two.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "machine/sim/wires/mesh_network.hpp"
#include "machine/sim/wires/mesh_waits.hpp"
#include "unit/machine/sim/wires/network_bed.hpp"

namespace selion::machine::sim {
namespace {

using meters::router_events;
using meters::router_port;

constexpr ticks slot = 2;
constexpr ticks one_hop = 6;  ///< the way to a neighbour

mesh_model plain_mesh(std::uint32_t rows, std::uint32_t columns) {
    mesh_model model;
    model.rows = rows;
    model.columns = columns;
    model.entry = model.hop = 3;
    model.slot = slot;
    return model;
}

std::unique_ptr<network_bed> bed_of(const mesh_model& model) {
    return std::make_unique<network_bed>(model.rows * model.columns, make_mesh_network(model));
}

router_events events_of(const std::unique_ptr<network_bed>& bed, std::uint32_t node) {
    return bed->wires().router_events(node, bed->end()).value();
}

ticks wait_at(const std::unique_ptr<network_bed>& bed, std::uint32_t node, router_port port) {
    return events_of(bed, node).waits[static_cast<std::size_t>(port)];
}

void send(std::deque<sample>& all, std::uint32_t from, std::uint32_t to, int transactions) {
    for (int i = 0; i < transactions; ++i) all.emplace_back(0, from, to, 8);
}

ticks last_of(const std::deque<sample>& all, std::uint32_t from) {
    ticks last = 0;
    for (const sample& each : all) {
        if (each.from == from) last = std::max(last, each.arrived);
    }
    return last;
}

/// Core 1 has the link for itself in two slots, from tick 3 on; then core 0's are there, and they
/// take turns until core 1 has none left.
TEST(mesh_waits_test, two_flows_share_a_link) {
    const auto bed = bed_of(plain_mesh(1, 3));
    std::deque<sample> all;
    send(all, 0, 2, 10);
    send(all, 1, 2, 10);
    bed->deliver(all);
    EXPECT_EQ(last_of(all, 0), one_hop + 19 * slot);  // twenty slots without a gap
    EXPECT_EQ(last_of(all, 1), one_hop + 17 * slot);
    // What ends at a core always finds room there.
    EXPECT_EQ(wait_at(bed, 1, router_port::east), 0);
    EXPECT_EQ(events_of(bed, 1).accesses[static_cast<std::size_t>(router_port::east)], 20U);
    EXPECT_EQ(events_of(bed, 1).bytes[static_cast<std::size_t>(router_port::east)], 160U);
}

/// The last link of a row is shared, so its first core gets every other slot there; the queues of
/// the links before it fill one after another, back to that core.
TEST(mesh_waits_test, a_full_queue_holds_up_three_routers_before_it) {
    const auto bed = bed_of(plain_mesh(1, 5));
    std::vector<std::deque<sample>> programs(5);
    programs[0].emplace_back(0, 0, 4, 8 * 40);
    programs[3].emplace_back(0, 3, 4, 8 * 40);
    for (auto& program : programs) {
        for (sample& each : program) each.store_bytes = 8;
    }
    bed->copy(programs);
    EXPECT_EQ(bed->end(), one_hop + 79 * slot);
    EXPECT_GT(wait_at(bed, 2, router_port::east), 0);
    EXPECT_GT(wait_at(bed, 1, router_port::east), 0);
    EXPECT_GT(wait_at(bed, 0, router_port::east), 0);
    EXPECT_GT(wait_at(bed, 0, router_port::core), 0);
    EXPECT_EQ(wait_at(bed, 3, router_port::east), 0);
    EXPECT_EQ(wait_at(bed, 2, router_port::west), 0);
    // The nearer the shared link, the sooner it was full.
    EXPECT_GT(wait_at(bed, 2, router_port::east), wait_at(bed, 0, router_port::east));
    const router_events first = events_of(bed, 0);
    const ticks east = wait_at(bed, 0, router_port::east);
    const ticks core = wait_at(bed, 0, router_port::core);
    EXPECT_GE(first.any_wait, std::max(east, core));
    EXPECT_LE(first.any_wait, east + core);
}

/// A core takes one transaction in a slot, whoever sends.
TEST(mesh_waits_test, fifteen_writers_to_one_core_wait_for_its_link) {
    const auto bed = bed_of(plain_mesh(4, 4));
    std::deque<sample> all;
    for (std::uint32_t from = 0; from < 16; ++from) {
        if (from != 5) send(all, from, 5, 20);
    }
    bed->deliver(all);
    EXPECT_EQ(bed->end(), one_hop + (15 * 20 - 1) * slot);
    // Its neighbours' links to it are held up by what waits before its core.
    EXPECT_GT(wait_at(bed, 1, router_port::south), 0);
    EXPECT_GT(wait_at(bed, 4, router_port::east), 0);
    EXPECT_GT(wait_at(bed, 6, router_port::west), 0);
    EXPECT_GT(wait_at(bed, 9, router_port::north), 0);
    for (const router_port port : {router_port::east, router_port::south}) {
        EXPECT_EQ(wait_at(bed, 5, port), 0);
        EXPECT_EQ(wait_at(bed, 15, port), 0);  // the last core has no such link
    }
}

TEST(mesh_waits_test, times_of_several_outputs_are_counted_once) {
    mesh_waits waits(2);
    waits.begin(east, 10);
    waits.begin(south, 15);
    waits.begin(east, 17);  // goes on
    waits.end(east, 20);
    EXPECT_EQ(waits.of_output(east, 20), 10);
    EXPECT_EQ(waits.of_any(0, 22), 12);
    waits.end(south, 25);
    waits.end(south, 30);  // does not
    EXPECT_EQ(waits.of_output(south, 40), 10);
    EXPECT_EQ(waits.of_any(0, 40), 15);
    EXPECT_EQ(waits.of_any(1, 40), 0);
}

TEST(mesh_waits_test, the_core_and_outputs_at_the_same_time_are_counted_once) {
    mesh_waits waits(1);
    waits.begin(east, 10);
    waits.end(east, 14);  // nobody asks for it later: the core had room
    waits.core_may_wait(0);
    waits.begin(east, 20);
    waits.end(east, 30);
    waits.begin(west, 34);
    waits.core_goes(0, 24, 40);  // stood still from 24 to 40
    EXPECT_EQ(waits.of_core(0), 16);
    // 10 to 14, 20 to 40.
    EXPECT_EQ(waits.of_any(0, 40), 4 + 20);
    waits.end(west, 44);
    EXPECT_EQ(waits.of_any(0, 50), 4 + 24);
    waits.core_goes(0, 60, 60);
    EXPECT_EQ(waits.of_core(0), 16);
}

}  // namespace
}  // namespace selion::machine::sim
