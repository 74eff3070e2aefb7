// SPDX-License-Identifier: Apache-2.0
// The mesh against a simulator that steps every tick: not near each other but equal.
#include <gmock/gmock.h>

#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "machine/sim/wires/mesh_network.hpp"
#include "unit/machine/sim/wires/network_bed.hpp"
#include "unit/machine/sim/wires/stepped_mesh.hpp"

namespace selion::machine::sim {
namespace {

constexpr ticks cycle = 2;
enum class pattern { uniform, transpose, hot_spot };

struct traffic {
    const char* name;
    std::uint32_t side;
    pattern where;
    double load;  ///< transactions per node and cycle
    std::uint32_t queue_slots = 1;
    bool wraps_around = false;
    ticks slot = cycle;
};

void PrintTo(const traffic& of, std::ostream* out) { *out << of.name; }

mesh_model epiphany(std::uint32_t rows, std::uint32_t columns) {
    mesh_model model;
    model.rows = rows;
    model.columns = columns;
    model.entry = 3;
    model.hop = 3;
    model.slot = cycle;
    return model;
}

mesh_model model_of(const traffic& of) {
    mesh_model model = epiphany(of.side, of.side);
    model.queue_slots = of.queue_slots;
    model.wraps_around = of.wraps_around;
    model.slot = of.slot;
    return model;
}

std::uint32_t target(const traffic& of, std::uint32_t from, std::mt19937_64& random) {
    const std::uint32_t nodes = of.side * of.side;
    if (of.where == pattern::transpose) return from % of.side * of.side + from / of.side;
    if (of.where == pattern::hot_spot && random() % 5 == 0) return nodes / 2 + of.side / 2;
    return static_cast<std::uint32_t>(random() % nodes);
}

std::deque<sample> plan(const traffic& of, ticks cycles) {
    std::mt19937_64 random(20161009);
    std::bernoulli_distribution sends(of.load);
    std::deque<sample> all;
    for (ticks at = 0; at < cycles * cycle; at += cycle) {
        for (std::uint32_t from = 0; from < of.side * of.side; ++from) {
            if (!sends(random)) continue;
            const std::uint32_t to = target(of, from, random);
            if (to != from) all.emplace_back(at, from, to, 8);
        }
    }
    return all;
}

/// Routers' outputs that the mesh has, as the reference numbers them and in the order of `links()`.
std::vector<std::size_t> outputs_of(const mesh_model& model) {
    std::vector<std::size_t> all;
    for (std::uint32_t node = 0; node < model.rows * model.columns; ++node) {
        const std::uint32_t row = node / model.columns;
        const std::uint32_t column = node % model.columns;
        const bool exists[] = {column + 1 < model.columns, row + 1 < model.rows, column > 0,
                               row > 0, true};
        for (std::size_t output = 0; output < 5; ++output) {
            if (model.wraps_around || exists[output]) all.push_back(node * 5 + output);
        }
    }
    return all;
}

/// Each link was busy and idle in as many ticks as the reference saw.
void compare_links(const network& wires, const mesh_model& model,
                   const stepped_mesh::result& expected) {
    const std::vector<std::size_t> outputs = outputs_of(model);
    std::size_t next = 0;
    ticks waited = 0;
    for (const link_use& link : wires.links()) {
        if (link.name.find("from") != std::string::npos) continue;  // a port, no router's output
        ASSERT_LT(next, outputs.size());
        const std::size_t output = outputs[next++];
        EXPECT_EQ(link.busy, static_cast<ticks>(link.messages) * model.slot) << link.name;
        // The reference ends with the last arrival, in the middle of a slot.
        EXPECT_GE(link.busy, expected.busy[output]) << link.name;
        EXPECT_LT(link.busy, expected.busy[output] + model.slot) << link.name;
        EXPECT_EQ(expected.busy[output] + expected.idle[output], expected.end);
        waited += link.waiting;
    }
    EXPECT_EQ(next, outputs.size());
    EXPECT_EQ(waited, expected.waited);
}

class mesh_reference_test : public testing::TestWithParam<traffic> {};

TEST_P(mesh_reference_test, every_transaction_arrives_when_the_stepped_mesh_says) {
    const mesh_model model = model_of(GetParam());
    std::deque<sample> all = plan(GetParam(), 600);
    const stepped_mesh::result expected = stepped_mesh(model).deliver(all);

    network_bed bed(model.rows * model.columns, make_mesh_network(model));
    bed.deliver(all);
    std::size_t differing = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i].arrivals, 1U);
        differing += all[i].arrived != expected.arrived[i];
    }
    EXPECT_EQ(differing, 0U) << "of " << all.size();
    compare_links(bed.wires(), model, expected);
}

INSTANTIATE_TEST_SUITE_P(
    loads, mesh_reference_test,
    testing::Values(traffic{"uniform_4x4_5_percent", 4, pattern::uniform, 0.05},
                    traffic{"uniform_4x4_20_percent", 4, pattern::uniform, 0.2},
                    traffic{"uniform_4x4_50_percent", 4, pattern::uniform, 0.5},
                    traffic{"uniform_4x4_saturated", 4, pattern::uniform, 0.9},
                    traffic{"uniform_8x8_5_percent", 8, pattern::uniform, 0.05},
                    traffic{"uniform_8x8_20_percent", 8, pattern::uniform, 0.2},
                    traffic{"uniform_8x8_50_percent", 8, pattern::uniform, 0.5},
                    traffic{"transpose_4x4", 4, pattern::transpose, 0.3},
                    traffic{"transpose_8x8", 8, pattern::transpose, 0.2},
                    traffic{"hot_spot_4x4", 4, pattern::hot_spot, 0.2},
                    traffic{"hot_spot_8x8", 8, pattern::hot_spot, 0.1},
                    traffic{"long_queues", 4, pattern::uniform, 0.7, 8},
                    traffic{"slow_links", 4, pattern::uniform, 0.2, 1, false, 5},
                    traffic{"fast_links", 4, pattern::uniform, 0.5, 1, false, 1},
                    traffic{"torus_20_percent", 4, pattern::uniform, 0.2, 1, true},
                    traffic{"torus_saturated", 8, pattern::uniform, 0.9, 1, true},
                    traffic{"torus_of_odd_side", 5, pattern::transpose, 0.8, 1, true}),
    [](const testing::TestParamInfo<traffic>& of) { return std::string(of.param.name); });

// --- copy loops ----------------------------------------------------------------------------------

struct exchange {
    const char* name;
    std::uint32_t stores;
    ticks unrolled_store;
    ticks remainder_store;
    bool all_begin_with_core_0;
    bool has_stalls;
};

void PrintTo(const exchange& of, std::ostream* out) { *out << of.name; }

/// Every core's puts to all others.
std::vector<std::vector<copy_loop>> programs_of(const exchange& of, std::uint32_t nodes) {
    std::vector<std::vector<copy_loop>> programs(nodes);
    for (std::uint32_t core = 0; core < nodes; ++core) {
        for (std::uint32_t i = 0; i < nodes; ++i) {
            const std::uint32_t to = of.all_begin_with_core_0 ? i : (core + i) % nodes;
            if (to != core) programs[core].push_back({to, of.stores});
        }
    }
    return programs;
}

class mesh_copy_test : public testing::TestWithParam<exchange> {};

TEST_P(mesh_copy_test, cores_stall_as_the_stepped_mesh_says) {
    mesh_model model = epiphany(4, 4);
    model.loop_entry = 7;
    model.loop_unroll = 8;
    model.unrolled_store = GetParam().unrolled_store;
    model.remainder_store = GetParam().remainder_store;
    const auto programs = programs_of(GetParam(), 16);
    const stepped_mesh::result expected = stepped_mesh(model).copy(programs);

    std::vector<std::deque<sample>> puts(16);
    for (std::uint32_t core = 0; core < 16; ++core) {
        for (const copy_loop& loop : programs[core]) {
            puts[core].emplace_back(0, core, loop.to, std::uint64_t{loop.stores} * 4);
            puts[core].back().store_bytes = 4;
        }
    }
    network_bed bed(16, make_mesh_network(model));
    bed.copy(puts);
    std::size_t number = 0;
    for (const auto& of_core : puts) {
        for (const sample& put : of_core) EXPECT_EQ(put.arrived, expected.arrived[number++]);
    }
    ticks stalled = 0;
    for (std::uint32_t core = 0; core < 16; ++core) stalled += bed.wires().stalls(core);
    EXPECT_EQ(stalled, expected.stalled);
    EXPECT_EQ(stalled > 0, GetParam().has_stalls);
}

INSTANTIATE_TEST_SUITE_P(
    exchanges, mesh_copy_test,
    testing::Values(exchange{"one_word_each", 1, 4, 10, false, false},
                    exchange{"one_word_each_to_core_0_first", 1, 4, 10, true, false},
                    exchange{"nine_words", 9, 4, 10, false, false},
                    exchange{"thirty_two_words_to_core_0_first", 32, 4, 10, true, true},
                    exchange{"faster_than_a_link", 32, 1, 1, true, true}),
    [](const testing::TestParamInfo<exchange>& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace selion::machine::sim
