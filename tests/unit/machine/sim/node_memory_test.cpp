// SPDX-License-Identifier: Apache-2.0
/// What single accesses of threads to cache lines take.
#include "machine/sim/node_memory.hpp"

#include <gtest/gtest.h>

namespace selion::machine::sim {
namespace {

constexpr ticks from_own = 10;
constexpr ticks from_thread = 30;
constexpr ticks from_near = 100;
constexpr ticks from_far = 1000;
constexpr ticks fetched = 5000;

/// Four cores of two threads, of which two share a cache.
node_model four_cores() {
    node_model model;
    model.cores = 4;
    model.threads = 2;
    model.cores_per_cache = 2;
    model.hit = from_own;
    model.same_core = from_thread;
    model.near = from_near;
    model.far = from_far;
    model.from_memory = fetched;
    return model;
}

/// Threads that access one line, one after another.
class one_line {
public:
    explicit one_line(const node_model& model = four_cores()) : memory_(model) {}
    ticks read(std::uint32_t thread) { return access(thread, access_kind::read); }
    ticks write(std::uint32_t thread) { return access(thread, access_kind::write); }
    std::uint64_t transfers() const { return memory_.transfers(); }

private:
    ticks access(std::uint32_t thread, access_kind kind) {
        const ticks begun = now_;
        now_ = memory_.access(thread, 0, kind, begun);
        return now_ - begun;
    }

    node_memory memory_;
    ticks now_ = 0;
};

TEST(node_memory, lines_come_from_memory_then_from_the_nearest_core) {
    one_line line;
    EXPECT_EQ(line.read(0), fetched);
    EXPECT_EQ(line.read(0), from_own);
    EXPECT_EQ(line.read(4), from_far);
    EXPECT_EQ(line.read(6), from_near);  // core 2 has it, too
    EXPECT_EQ(line.transfers(), 2u);
}

TEST(node_memory, a_line_that_nobody_has_changed_stays_whoever_reads_it) {
    one_line line;
    line.read(0);
    line.read(1);
    line.read(2);
    for (const std::uint32_t thread : {0u, 1u, 2u, 0u, 1u}) EXPECT_EQ(line.read(thread), from_own);
}

TEST(node_memory, a_change_of_the_other_thread_of_the_core_is_seen_once) {
    one_line line;
    line.write(0);
    EXPECT_EQ(line.read(0), from_own);
    EXPECT_EQ(line.read(1), from_thread);
    EXPECT_EQ(line.read(1), from_own);
    EXPECT_EQ(line.read(0), from_own);
    EXPECT_EQ(line.write(1), from_own);
    EXPECT_EQ(line.read(0), from_thread);
}

TEST(node_memory, threads_of_a_core_that_write_in_turn_pay_each_time) {
    one_line line;
    line.write(0);
    EXPECT_EQ(line.write(1), from_thread);
    EXPECT_EQ(line.write(0), from_thread);
    EXPECT_EQ(line.write(0), from_own);
}

TEST(node_memory, a_change_of_another_core_comes_over_and_is_no_news_then) {
    one_line line;
    line.write(0);
    EXPECT_EQ(line.read(2), from_near);
    EXPECT_EQ(line.read(3), from_own);  // the other thread of that core
    EXPECT_EQ(line.write(4), from_far);
    EXPECT_EQ(line.read(0), from_far);
}

TEST(node_memory, the_first_write_to_a_line_that_is_nobody_elses_is_a_hit) {
    one_line line;
    line.read(0);
    EXPECT_EQ(line.write(0), from_own);
    EXPECT_EQ(line.transfers(), 0u);
    line.read(2);
    EXPECT_EQ(line.write(0), from_near);  // core 1's copy must go
    EXPECT_EQ(line.transfers(), 2u);
}

TEST(node_memory, memory_keeps_fractions_of_ticks) {
    constexpr std::uint64_t lines = 1000;
    node_model model = four_cores();
    model.from_memory = 0;
    model.memory_per_byte = rate::from_ticks(1.0 / 33);  // a line takes 1.94 ticks
    node_memory memory(model);
    ticks last = 0;
    for (std::uint64_t line = 0; line < lines; ++line) {
        last = std::max(last, memory.access(0, line * model.line_bytes, access_kind::read, 0));
    }
    EXPECT_NEAR(static_cast<double>(last), lines * 64 / 33.0, 4);
}

TEST(node_memory, a_core_that_copies_keeps_fractions_of_ticks) {
    node_model model = four_cores();
    model.near = 0;
    model.core_per_byte = rate::from_ticks(0.0234375);  // a line takes a tick and a half
    node_memory memory(model);
    constexpr std::uint64_t bytes = 64'000;
    ticks now = memory.stream(0, 0, bytes, access_kind::write, 0);
    line_range range = memory.range_of(0, bytes, access_kind::read, now);
    memory.stream(2, range, end_of_time);
    EXPECT_EQ(range.asked - now, 1500);
}

TEST(node_memory, messages_know_the_way_between_two_threads) {
    const node_memory memory(four_cores());
    EXPECT_EQ(memory.way_between(0, 1), from_thread);
    EXPECT_EQ(memory.way_between(0, 2), from_near);
    EXPECT_EQ(memory.way_between(7, 1), from_far);
}

}  // namespace
}  // namespace selion::machine::sim
