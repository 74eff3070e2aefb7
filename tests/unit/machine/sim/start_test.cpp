// SPDX-License-Identifier: Apache-2.0
/// What happens at the very start meets ranks that have begun.
#include <gtest/gtest.h>

#include <vector>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

TEST(start, all_ranks_begin_before_a_message_arrives_that_takes_no_time) {
    model_run run(free_model(3, network_kind::crossbar));
    std::vector<std::uint32_t> order;
    run.run([&](model_rank& self) {
        order.push_back(self.number());
        if (self.number() != 0) return;
        self.put_word(2, 64, 7);
        self.quiet();
        EXPECT_EQ(self.now(), 0);
        EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2}));
    });
}

}  // namespace
}  // namespace selion::machine::sim
