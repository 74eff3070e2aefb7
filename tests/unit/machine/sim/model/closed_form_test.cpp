// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/model/closed_form.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "machine/sim/description/machine_file.hpp"
#include "unit/machine/sim/run_on_model.hpp"

/// Operations of which nothing else is in the way take, on the simulator, what the constants say.
namespace selion::machine::sim {
namespace {

struct scene {
    const char* machine;
    option_map options;
    std::uint32_t target;
    bool target_computes = false;
};

std::vector<scene> scenes() {
    return {
        {"crossbar", {}, 5},
        {"crossbar", {{"operations.put.latency_us", "3"}, {"operations.get.latency_us", "2"}}, 1},
        {"crossbar", {{"network.packet_bytes", "1000"}, {"network.packet_gap_us", "1"}}, 1},
        {"epiphany-iii", {}, 1},
        {"epiphany-iii", {}, 15},
        {"epiphany-iii", {{"network.wraps_around", "on"}}, 15},
        {"epiphany-iii", {{"network.dma_from_bytes", "1000"}}, 15},
        {"epiphany-iii",
         {{"network.dma_from_bytes", "1000"}, {"reception.acknowledges_puts", "on"}},
         15},
        {"epiphany-iii", {{"network.slot_cycles", "9"}}, 15},
        {"epiphany-iii", {{"network.unroll", "1"}}, 15},
        {"now-ultrasparc", {}, 7},
        {"sp-lapi", {}, 1},
        {"sp-lapi", {{"progress", "interrupt"}}, 1},
        {"sp-lapi", {{"progress", "interrupt"}}, 1, true},
        {"multispert", {}, 4},
        {"multispert", {{"host", "sparc_2"}, {"burst", "2"}}, 1},
        {"multispert",
         {{"boards", "8"},
          {"network.slots", "4"},
          {"network.boards_per_expander", "4"},
          {"network.expander_us", "5"}},
         8},
        {"bluegene-p", {{"nodes", "8"}}, 3},
        {"bluegene-p", {{"nodes", "64"}}, 200},
        {"niagara2", {{"processes", "64"}}, 9},
        {"clovertown", {{"processes", "8"}}, 7}};
}

/// Ticks of an operation of rank 0 that it waits for, long after all have started.
ticks simulated(const scene& where, const machine_model& model,
                const std::function<void(model_rank&)>& operation) {
    constexpr ticks settled = 1'000'000'000'000;  // ps
    constexpr std::uint64_t signal = 512 * 1024;
    ticks taken = 0;
    model_run run(model);
    run.run([&](model_rank& rank) {
        if (rank.number() == 0) {
            rank.compute(settled);
            const ticks start = rank.now();
            operation(rank);
            taken = rank.now() - start;
            rank.raise(where.target, signal);
        } else if (rank.number() == where.target) {
            if (where.target_computes) rank.compute(3 * settled);
            rank.await(signal, 1);
        }
    });
    return taken;
}

class closed_form : public testing::TestWithParam<scene> {};

TEST_P(closed_form, is_what_the_simulator_takes) {
    const scene& where = GetParam();
    const machine_model model = load_machine(where.machine, where.options).value();
    for (const std::uint64_t bytes : {4, 8, 1168, 16384}) {
        const route way{.from = 0,
                        .to = where.target,
                        .bytes = bytes,
                        .target_computes = where.target_computes};
        EXPECT_EQ(simulated(where, model,
                            [&](model_rank& rank) {
                                rank.put(where.target, 0, bytes);
                                rank.quiet();
                            }),
                  put_journey(model, way).total())
            << "put of " << bytes;
        EXPECT_EQ(
            simulated(where, model, [&](model_rank& rank) { rank.get(where.target, 0, bytes); }),
            get_journey(model, way).total())
            << "get of " << bytes;
    }
    const route word{.from = 0, .to = where.target, .target_computes = where.target_computes};
    EXPECT_EQ(
        simulated(where, model, [&](model_rank& rank) { rank.fetch_add(where.target, 0, 1); }),
        atomic_journey(model, word).total());
    EXPECT_EQ(simulated(where, model,
                        [&](model_rank& rank) {
                            rank.raise(where.target, 256 * 1024);
                            rank.quiet();
                        }),
              signal_journey(model, word).total());
}

INSTANTIATE_TEST_SUITE_P(machines, closed_form, testing::ValuesIn(scenes()),
                         [](const testing::TestParamInfo<scene>& each) {
                             std::string name = each.param.machine;
                             std::ranges::replace(name, '-', '_');
                             return name + "_" + std::to_string(each.index);
                         });

TEST(closed_form_of_dma, is_what_the_simulator_takes) {
    const machine_model model =
        load_machine("epiphany-iii", {{"network.dma_from_bytes", "1"}}).value();
    for (const std::uint64_t bytes : {8, 512, 2048, 4096, 8192, 12288}) {
        EXPECT_EQ(simulated({"epiphany-iii", {}, 15}, model,
                            [&](model_rank& rank) {
                                rank.put(15, 0, bytes);
                                rank.quiet();
                            }),
                  dma_ticks(model, {.from = 0, .to = 15, .bytes = bytes}));
    }
}

}  // namespace
}  // namespace selion::machine::sim
