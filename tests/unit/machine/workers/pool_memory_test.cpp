// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/pool_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace selion::machine::workers {
namespace {

/// Pages that are locked are not given back like others.
TEST(pool_memory, is_empty_for_a_new_worker_also_where_it_is_locked) {
    for (const bool is_file : {true, false}) {
        pool_plan plan;
        plan.workers = 2;
        plan.memory_bytes = 1 << 16;
        plan.is_file = is_file;
        auto made = pool_memory::create(plan);
        ASSERT_TRUE(made);
        const pool_memory memory = std::move(made).value();
        const std::uint64_t bytes = memory.head().memory_bytes;
        const std::span first(memory.memory(0), bytes);
        const std::span second(memory.memory(1), bytes);
        ASSERT_EQ(mlock(second.data(), bytes), 0);
        std::memset(first.data(), 1, bytes);
        std::memset(second.data(), 1, bytes);
        memory.area(1).list_bytes = 7;
        memory.clear(1);
        EXPECT_TRUE(std::ranges::all_of(second, [](std::byte b) { return b == std::byte{0}; }));
        EXPECT_EQ(memory.area(1).list_bytes, 0u);
        EXPECT_TRUE(std::ranges::all_of(first, [](std::byte b) { return b == std::byte{1}; }));
    }
}

}  // namespace
}  // namespace selion::machine::workers
