// SPDX-License-Identifier: Apache-2.0
#include "meters/record/recorder.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace selion::meters {
namespace {

using nlohmann::json;

const meter_reading& reading_of(const std::vector<meter_reading>& all, const std::string& name) {
    for (const meter_reading& one : all) {
        if (one.name == name) return one;
    }
    ADD_FAILURE() << "no reading of " << name;
    static const meter_reading none;
    return none;
}

/// A timer's run, in nanoseconds.
occurrence run_of(const char* name, std::int64_t start_ns, std::int64_t end_ns, std::uint64_t bytes,
                  const char* file, std::uint32_t line) {
    return {.name = name,
            .start_ps = start_ns * 1000,
            .end_ps = end_ns * 1000,
            .line = line,
            .file = file,
            .bytes = bytes};
}

TEST(recorder, begins_empty) { EXPECT_TRUE(recorder().readings().empty()); }

TEST(recorder, adds_counters_up) {
    recorder meters;
    meters.count("apples", 3, 0);
    meters.count("apples", -1, 0);
    meters.count("pears", 10, 0);
    const auto all = meters.readings();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(reading_of(all, "apples").count, 2);
    EXPECT_EQ(reading_of(all, "apples").total, 2);
    EXPECT_EQ(reading_of(all, "apples").unit, "events");
    EXPECT_EQ(reading_of(all, "apples").site, "");
    EXPECT_EQ(reading_of(all, "pears").total, 10);
}

TEST(recorder, counters_stay_at_their_end) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    recorder meters;
    meters.count("up", most, 0);
    meters.count("up", 10, 0);
    meters.count("down", -most, 0);
    meters.count("down", -10, 0);
    const auto all = meters.readings();
    EXPECT_EQ(reading_of(all, "up").total, most);
    EXPECT_EQ(reading_of(all, "down").total, std::numeric_limits<std::int64_t>::min());
}

TEST(recorder, tells_the_places_apart) {
    recorder meters;
    meters.record(run_of("put", 100, 130, 8, "a.cpp", 12));
    meters.record(run_of("put", 200, 205, 16, "b.cpp", 99));
    meters.record(run_of("put", 300, 310, 8, "a.cpp", 12));
    meters.record(run_of("wait", 300, 310, 0, nullptr, 0));
    const auto all = meters.readings_by_line();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].site, "a.cpp:12");
    EXPECT_EQ(all[0].count, 2);
    EXPECT_EQ(all[0].total, 40);
    EXPECT_EQ(all[1].site, "b.cpp:99");
    EXPECT_EQ(all[1].bytes, 16);
}

TEST(recorder, adds_times_and_bytes_up_and_keeps_the_first_place) {
    recorder meters;
    meters.record(run_of("put", 100, 130, 8, "a.cpp", 12));
    meters.record(run_of("put", 200, 205, 16, "b.cpp", 99));
    const auto all = meters.readings();
    const meter_reading& put = reading_of(all, "put");
    EXPECT_EQ(put.count, 2);
    EXPECT_EQ(put.total, 35);
    EXPECT_EQ(put.bytes, 24);
    EXPECT_EQ(put.unit, "ns");
    EXPECT_EQ(put.site, "a.cpp:12");
}

TEST(recorder, equal_names_at_different_addresses_are_one_meter) {
    const std::string first = "twin";
    const std::string second = "twin";
    recorder meters;
    meters.count(first.c_str(), 1, 0);
    meters.count(second.c_str(), 2, 0);
    EXPECT_EQ(reading_of(meters.readings(), "twin").total, 3);
}

TEST(recorder, adds_fractions_of_nanoseconds_up) {
    recorder meters;
    for (int i = 0; i < 4; ++i) meters.record({.name = "round", .start_ps = 250, .end_ps = 1000});
    EXPECT_EQ(reading_of(meters.readings(), "round").total, 3);
}

TEST(recorder, gives_arrows_to_the_operation_in_progress) {
    recorder meters;
    EXPECT_FALSE(meters.begin_flow(5));
    meters.begin_operation();
    EXPECT_TRUE(meters.begin_flow(7));
    EXPECT_EQ(meters.end_operation(), 7u);
    meters.begin_operation();
    EXPECT_EQ(meters.end_operation(), 0u);
}

TEST(recorder, keeps_what_happens_beside_an_operation_apart_from_it) {
    recorder meters;
    meters.begin_operation();
    EXPECT_TRUE(meters.begin_flow(7));
    const auto left = meters.begin_beside();
    EXPECT_FALSE(meters.begin_flow(8));
    meters.begin_operation();
    EXPECT_TRUE(meters.begin_flow(9));
    EXPECT_EQ(meters.end_operation(), 9u);
    meters.end_beside(left);
    EXPECT_TRUE(meters.begin_flow(10));
    EXPECT_EQ(meters.end_operation(), 10u);
}

TEST(flow, of_a_signal_is_known_to_both_sides_and_to_no_others) {
    std::set<flow_id> all;
    std::size_t count = 0;
    for (std::uint64_t signal = 0; signal < 20 * 16; signal += 16) {
        for (std::uint64_t value = 1; value < 20; ++value) {
            for (std::uint64_t era = 0; era < 20; ++era, ++count) {
                const flow_id one = flow_of_signal(signal, value, era);
                EXPECT_EQ(one, flow_of_signal(signal, value, era));
                EXPECT_GT(one, std::uint64_t{1} << 62);
                all.insert(one);
            }
        }
    }
    EXPECT_EQ(all.size(), count);
}

/// Names that a program may choose, and that are hard to write down.
constexpr const char* hard_names[] = {"quote \" in it", "back\\slash", "new\nline",
                                      "tab\tbed",       "bell\a",      "",
                                      "grüße 世界",     "</script>"};

TEST(reading_lines, are_json_one_a_line) {
    recorder meters;
    for (const char* name : hard_names) meters.record(run_of(name, 10, 30, 8, "dir/a b.cpp", 7));
    std::istringstream lines(meters.reading_lines(3));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        const json reading = json::parse(line);
        EXPECT_EQ(reading["rank"], 3);
        EXPECT_EQ(reading["unit"], "ns");
        EXPECT_EQ(reading["count"], 1);
        EXPECT_EQ(reading["total"], 20);
        EXPECT_EQ(reading["bytes"], 8);
        EXPECT_EQ(reading["site"], "dir/a b.cpp:7");
        EXPECT_EQ(std::ranges::count(hard_names, reading["name"].get<std::string>()), 1);
    }
    EXPECT_EQ(count, std::size(hard_names));
}

}  // namespace
}  // namespace selion::meters
