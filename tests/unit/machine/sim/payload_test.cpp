// SPDX-License-Identifier: Apache-2.0
// payload=none: long puts and gets take their time and move nothing.
#include <gtest/gtest.h>

#include <array>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

constexpr std::uint64_t most_bytes = 4096;
constexpr std::uint64_t signal = 0;
constexpr std::uint64_t place = 64;

machine_model wires() {
    machine_model model = free_model(2, network_kind::crossbar);
    model.crossbar.latency = 1000;
    model.crossbar.per_byte = rate::from_ticks(3);
    model.acknowledges_puts = true;
    set_costs(model, {.origin = 10, .target = 20, .reply = 5});
    return model;
}

run_setting without_payload() {
    run_setting setting = model_run::small();
    setting.has_payload = false;
    return setting;
}

std::uint64_t address(std::uint32_t rank, std::uint64_t offset) {
    return detail::global_address(rank, offset);
}

/// What rank 1 finds after a put of rank 0, and what a get of rank 0 brings, of `bytes` each.
struct seen {
    std::uint64_t put = 0;
    std::uint64_t got = 0;
    std::uint64_t signals = 0;
    std::uint64_t counted = 0;
    ticks end = 0;
};

seen exchange(const run_setting& setting, std::uint64_t bytes) {
    model_run run(wires(), setting);
    seen found;
    run.run([&](model_rank& rank) {
        std::array<std::uint64_t, most_bytes / 8> data{};
        if (rank.number() == 1) {
            rank.own(place + most_bytes) = 77;
            rank.await(signal, 2);
            found.put = rank.own(place);
            found.signals = rank.own(signal);
            return;
        }
        data.fill(55);
        run.all().put(rank.context(), {address(1, place), data.data(), bytes, address(1, signal),
                                       detail::signal_update{1, true}});
        run.all().get(rank.context(), data.data(), address(1, place + most_bytes), bytes);
        found.got = data[0];
        rank.put_word(1, place + 2 * most_bytes, 5);
        found.counted = rank.fetch_add(1, place + 2 * most_bytes, 1);
        rank.raise(1, signal);
        rank.quiet();
    });
    found.end = run.ended();
    return found;
}

TEST(payload, is_moved_unless_the_run_says_otherwise) {
    const seen found = exchange(model_run::small(), most_bytes);
    EXPECT_EQ(found.put, 55U);
    EXPECT_EQ(found.got, 77U);
}

TEST(payload, none_leaves_long_data_where_they_are) {
    const seen found = exchange(without_payload(), most_bytes);
    EXPECT_EQ(found.put, 0U);
    EXPECT_EQ(found.got, 55U);
    EXPECT_EQ(exchange(without_payload(), least_payload_bytes + 1).put, 0U);
}

TEST(payload, none_moves_short_data_signals_and_atomics) {
    const seen found = exchange(without_payload(), least_payload_bytes);
    EXPECT_EQ(found.put, 55U);
    EXPECT_EQ(found.got, 77U);
    for (const std::uint64_t bytes : {least_payload_bytes, most_bytes}) {
        EXPECT_EQ(exchange(without_payload(), bytes).signals, 2U);
        EXPECT_EQ(exchange(without_payload(), bytes).counted, 5U);
    }
}

TEST(payload, none_takes_as_long) {
    for (const std::uint64_t bytes : {std::uint64_t{1}, least_payload_bytes + 1, most_bytes}) {
        EXPECT_EQ(exchange(without_payload(), bytes).end, exchange(model_run::small(), bytes).end);
    }
}

/// More than any host has.
constexpr std::uint64_t huge = std::uint64_t{1} << 55;

TEST(payload, none_promises_more_memory_than_the_host_has) {
    for (const bool has_payload : {true, false}) {
        model_run run(wires(), has_payload ? model_run::small() : without_payload());
        run.run([&](model_rank&) { EXPECT_EQ(run.all().commit(huge), !has_payload); });
    }
}

TEST(payload, none_keeps_the_limit_of_the_machine) {
    machine_model model = wires();
    model.memory_bytes = 1000;
    model_run run(model, without_payload());
    run.run([&](model_rank&) {
        EXPECT_FALSE(run.all().commit(1001));
        EXPECT_TRUE(run.all().commit(1000));
    });
}

}  // namespace
}  // namespace selion::machine::sim
