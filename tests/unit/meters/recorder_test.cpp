// SPDX-License-Identifier: Apache-2.0
#include "meters/record/recorder.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
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

TEST(recorder, begins_empty) {
    EXPECT_TRUE(recorder(true).readings().empty());
    EXPECT_EQ(recorder(true).dropped_events(), 0u);
}

TEST(recorder, adds_counters_up) {
    recorder meters(false);
    meters.count("apples", 3);
    meters.count("apples", -1);
    meters.count("pears", 10);
    const auto all = meters.readings();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(reading_of(all, "apples").count, 2);
    EXPECT_EQ(reading_of(all, "apples").total, 2);
    EXPECT_EQ(reading_of(all, "apples").unit, "events");
    EXPECT_EQ(reading_of(all, "apples").site, "");
    EXPECT_EQ(reading_of(all, "pears").total, 10);
}

TEST(recorder, adds_times_and_bytes_up_and_keeps_the_first_place) {
    recorder meters(false);
    meters.record({"put", 100, 130, 8, "a.cpp", 12});
    meters.record({"put", 200, 205, 16, "b.cpp", 99});
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
    recorder meters(false);
    meters.count(first.c_str(), 1);
    meters.count(second.c_str(), 2);
    EXPECT_EQ(reading_of(meters.readings(), "twin").total, 3);
}

/// Names that a program may choose, and that are hard to write down.
constexpr const char* hard_names[] = {"quote \" in it", "back\\slash", "new\nline",
                                      "tab\tbed",       "bell\a",      "",
                                      "grüße 世界",     "</script>"};

json whole_trace(const recorder& meters) {
    return json::parse(trace_head("threads:2 \"quoted\"", 2) + meters.trace_events(0) +
                       meters.trace_events(1) + trace_tail());
}

TEST(trace, is_json_whatever_the_names_are) {
    recorder meters(true);
    for (const char* name : hard_names) meters.record({name, 1000, 2500, 8, name, 7});
    meters.count("count of \"quotes\"", 5);
    const json all = whole_trace(meters);
    ASSERT_TRUE(all.is_array());
    for (const char* name : hard_names) {
        const auto count = std::ranges::count_if(all, [&](const json& event) {
            return event["ph"] == "X" && event["name"] == name && event["tid"] == 0 &&
                   event["args"]["at"] == std::string(name) + ":7";
        });
        EXPECT_EQ(count, 1) << name;
    }
    EXPECT_TRUE(std::ranges::any_of(all, [](const json& event) {
        return event["ph"] == "C" && event["name"] == "count of \"quotes\" (rank 0)" &&
               event["args"]["total"] == 5;
    }));
}

TEST(trace, has_times_in_microseconds_and_a_row_for_each_rank) {
    recorder meters(true);
    meters.record({"put", 1'234'567, 1'234'999, 64, "a.cpp", 3});
    meters.record({"get", 5, 1'000'000'005, 0});
    const json all = whole_trace(meters);
    int rows = 0;
    for (const json& event : all) {
        if (event["name"] == "thread_name") {
            EXPECT_EQ(event["args"]["name"], "rank " + std::to_string(event["tid"].get<int>()));
            ++rows;
        }
        if (event["name"] == "put") {
            EXPECT_DOUBLE_EQ(event["ts"].get<double>(), 1234.567);
            EXPECT_DOUBLE_EQ(event["dur"].get<double>(), 0.432);
            EXPECT_EQ(event["args"]["bytes"], 64);
            EXPECT_EQ(event["args"]["at"], "a.cpp:3");
        }
        if (event["name"] == "get") {
            EXPECT_DOUBLE_EQ(event["ts"].get<double>(), 0.005);
            EXPECT_DOUBLE_EQ(event["dur"].get<double>(), 1e6);
            EXPECT_FALSE(event["args"].contains("at"));
        }
    }
    EXPECT_EQ(rows, 2);
}

TEST(trace, of_nothing_is_json_too) {
    EXPECT_TRUE(whole_trace(recorder(true)).is_array());
    EXPECT_TRUE(json::parse(trace_head("threads:1", 1) + trace_tail()).is_array());
}

TEST(trace, keeps_no_events_unless_asked) {
    recorder meters(false);
    meters.record({"put", 1, 2, 8});
    for (const json& event : whole_trace(meters)) EXPECT_NE(event["ph"], "X");
}

TEST(trace, keeps_so_many_events_and_counts_the_rest) {
    recorder meters(true);
    constexpr std::int64_t more = 5;
    constexpr auto most = static_cast<std::int64_t>(recorder::most_events);
    for (std::int64_t i = 0; i < most + more; ++i) meters.record({"put", i, i + 1, 8});
    EXPECT_EQ(meters.dropped_events(), std::uint64_t{more});
    EXPECT_EQ(reading_of(meters.readings(), "put").count, most + more);
    const std::string text = meters.trace_events(0);
    EXPECT_THAT(text.substr(text.size() - 200), testing::HasSubstr(R"("count":5)"));
}

TEST(reading_lines, are_json_one_a_line) {
    recorder meters(false);
    for (const char* name : hard_names) meters.record({name, 10, 30, 8, "dir/a b.cpp", 7});
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
