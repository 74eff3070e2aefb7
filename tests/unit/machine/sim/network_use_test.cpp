// SPDX-License-Identifier: Apache-2.0
/// What links say that they have carried, also where a run ends before its messages are there.
#include <gtest/gtest.h>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

/// A run whose messages are under way when it ends.
void expect_possible_use(const machine_model& model) {
    model_run run(model);
    run.run_each({[](model_rank& self) {
        for (int i = 0; i < 50; ++i) self.put(1, 0, 1000);
    }});
    const meters::network_use use = run.all().network_use();
    ASSERT_FALSE(use.links.empty());
    for (const auto& link : use.links) EXPECT_LE(link.busy_ps, use.run_ps) << link.name;
    EXPECT_GE(use.run_ps, run.ended());
}

TEST(network_use, of_links_is_never_more_than_there_was_time) {
    machine_model crossbar = free_model(2, network_kind::crossbar);
    crossbar.crossbar.latency = 10;
    crossbar.crossbar.per_byte = rate::from_ticks(5);
    set_costs(crossbar, {});
    expect_possible_use(crossbar);

    machine_model torus = free_model(2, network_kind::torus);
    torus.torus.sides = {2};
    torus.nodes = 2;
    torus.torus.per_byte = rate::from_ticks(5);
    set_costs(torus, {});
    expect_possible_use(torus);

    machine_model bus = free_model(2, network_kind::bus);
    bus.bus.has_dma = true;
    bus.bus.write_per_byte = rate::from_ticks(5);
    set_costs(bus, {});
    expect_possible_use(bus);
}

}  // namespace
}  // namespace selion::machine::sim
