// SPDX-License-Identifier: Apache-2.0
/// Which costs an operation takes: by its size, and by where its ranks are.
#include <gtest/gtest.h>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

TEST(regimes, a_put_with_a_signal_is_as_long_as_its_data) {
    machine_model model = free_model(2, network_kind::crossbar);
    operation_regime small;
    small.up_to_bytes = 1024;
    small.origin = 10;
    operation_regime large;
    large.origin = 1000;
    model.put.regimes = {small, large};
    model_run run(model);
    ticks at_most = 0;
    ticks beyond = 0;
    run.run_each({[&](model_rank& rank) {
        rank.put_signal(1, 0, 1024);
        at_most = rank.now();
        rank.put_signal(1, 0, 1025);
        beyond = rank.now() - at_most;
    }});
    EXPECT_EQ(at_most, 10);
    EXPECT_EQ(beyond, 1000);
}

/// Two cores that share a cache, and two that do not.
machine_model four_cores_of_a_node() {
    machine_model model = free_model(4, network_kind::none);
    node_model& node = model.node.emplace();
    node.cores = 4;
    node.cores_per_cache = 2;
    node.near = 100;
    node.far = 10'000;
    model.processes_per_node = 1;
    model.threads_per_process = 4;
    return model;
}

TEST(messages, between_cores_of_a_process_take_the_way_of_a_line) {
    for (const std::uint32_t target : {1u, 2u}) {
        static ticks arrived;
        model_run run(four_cores_of_a_node());
        run.run_each({[&](model_rank& rank) { rank.send(target); }},
                     [](detail::rank_context& context, incoming_message&) {
                         arrived = context.clock->stamp_ps();
                     });
        EXPECT_EQ(arrived, target == 1 ? 100 : 10'000);
    }
}

}  // namespace
}  // namespace selion::machine::sim
