// SPDX-License-Identifier: Apache-2.0
/// A rank that goes through much of the memory that ranks share, and others that come meanwhile.
#include <gtest/gtest.h>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

constexpr std::uint64_t many = std::uint64_t{1} << 19;  // bytes
constexpr ticks each_byte = 300;
constexpr ticks from_memory = 100'000;
constexpr ticks microsecond = 1'000'000;

machine_model three_cores() {
    machine_model model = free_model(3, network_kind::none);
    node_model& node = model.node.emplace();
    node.cores = 3;
    node.from_memory = from_memory;
    node.near = node.far = 50'000;
    node.core_per_byte = rate::from_ticks(each_byte);
    node.memory_per_byte = rate::from_ticks(each_byte / 10);
    return model;
}

void write(model_rank& self, std::byte* place, std::size_t bytes) {
    self.context().simulated->touch(self.context(), place, bytes, true);
}

TEST(long_range, others_do_not_wait_for_what_a_rank_does_later) {
    model_run run(three_cores());
    ticks taken = 0;
    std::byte* const memory = run.all().segments().slice(2);
    run.run_each({[&](model_rank& self) { write(self, memory, many); },
                  [&](model_rank& self) {
                      self.compute(microsecond);
                      write(self, memory + many - 64, 64);
                      taken = self.now() - microsecond;
                  }});
    EXPECT_LT(taken, 6 * microsecond);
    EXPECT_GE(run.ended(0), many * each_byte);
}

TEST(long_range, alone_takes_as_long_as_its_bytes) {
    model_run run(three_cores());
    std::byte* const memory = run.all().segments().slice(2);
    run.run_each({[&](model_rank& self) { write(self, memory, many); }});
    EXPECT_EQ(run.ended(0), (many - 64) * each_byte + from_memory);
}

}  // namespace
}  // namespace selion::machine::sim
