// SPDX-License-Identifier: Apache-2.0
/// The option slow where ranks share memory.
#include <gtest/gtest.h>

#include "machine/sim/node_memory.hpp"

namespace selion::machine::sim {
namespace {

constexpr ticks way_from_memory = 1000;

node_model two_cores() {
    node_model model;
    model.cores = 2;
    model.hit = 3;
    model.near = model.far = 100;
    model.from_memory = way_from_memory;
    model.atomic = 20;
    model.core_per_byte = rate::from_ticks(1);
    return model;
}

TEST(slow_rank, its_core_takes_longer_and_the_ways_of_lines_do_not) {
    node_memory memory(two_cores());
    memory.slow_down(1, rate::from_ticks(4));
    constexpr std::uintptr_t line = 4096;
    EXPECT_EQ(memory.access(1, line, access_kind::atomic, 0), way_from_memory + 4 * 20);
    EXPECT_EQ(memory.access(1, line, access_kind::read, 5000), 5000 + 4 * 3);
    EXPECT_EQ(memory.access(1, line, access_kind::atomic, 6000), 6000 + 4 * (3 + 20));
    EXPECT_EQ(memory.access(0, line, access_kind::atomic, 7000), 7000 + 100 + 20);
    EXPECT_EQ(memory.access(0, line, access_kind::atomic, 8000), 8000 + 3 + 20);
    constexpr std::uint64_t many = 1 << 16;
    EXPECT_EQ(memory.stream(0, 0, many, access_kind::write, 0), many + way_from_memory - 64);
    EXPECT_EQ(memory.stream(1, many, many, access_kind::write, 0),
              4 * (many - 64) + way_from_memory);
}

}  // namespace
}  // namespace selion::machine::sim
