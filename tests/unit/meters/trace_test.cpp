// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "meters/record/trace_buffer.hpp"
#include "meters/record/trace_text.hpp"

namespace selion::meters {
namespace {

using nlohmann::json;

/// Keeps what it gets.
class kept_parts final : public trace_sink {
public:
    bool write(std::string_view lines) override {
        if (parts.size() == most_parts) return false;
        parts.emplace_back(lines);
        return true;
    }
    std::string text() const {
        std::string all;
        for (const std::string& part : parts) all += part;
        return all;
    }
    std::vector<std::string> parts;
    std::size_t most_parts = SIZE_MAX;
};

/// A whole trace of one rank.
json trace_of(const std::vector<occurrence>& events, std::uint32_t rank = 0) {
    const std::string text =
        trace_head({.machine = "threads:2 \"quoted\"", .version = "1", .ranks = 2}) +
        track_name(rank) + event_lines(rank, events) + std::string(trace_tail());
    return json::parse(text);
}

json first(const json& all, const std::string& phase, const std::string& name) {
    for (const json& event : all) {
        if (event["ph"] == phase && event["name"] == name) return event;
    }
    ADD_FAILURE() << "no event " << phase << " of name " << name;
    return {};
}

std::vector<std::string> order_of(const json& all) {
    std::vector<std::string> names;
    for (const json& event : all) {
        if (event["ph"] == "M") continue;
        names.push_back(event["ph"].get<std::string>() + " " + event["name"].get<std::string>());
    }
    return names;
}

/// Names that a program may choose, and that are hard to write down.
constexpr const char* trace_names[] = {"quote \" in it", "back\\slash", "new\nline",
                                       "tab\tbed",       "bell\a",      "",
                                       "grüße 世界",     "</script>"};

TEST(trace_text, is_json_whatever_the_names_are) {
    std::vector<occurrence> events;
    for (const char* name : trace_names) {
        events.push_back(
            {.name = name, .start_ps = 1000, .end_ps = 2500, .line = 7, .file = name, .bytes = 8});
        events.push_back({.name = name, .kind = slice_kind::count, .bytes = 5});
    }
    const json all = trace_of(events);
    ASSERT_TRUE(all.is_array());
    for (const char* name : trace_names) {
        EXPECT_EQ(first(all, "X", name)["args"]["at"], std::string(name) + ":7");
        EXPECT_EQ(first(all, "C", std::string(name) + " (rank 0)")["args"]["total"], 5);
    }
}

TEST(trace_text, stands_in_for_bytes_that_are_no_text) {
    const std::string stand_in = "\xef\xbf\xbd";
    const std::pair<std::string, std::string> names[] = {
        {"gr\xfc\xdf"
         "e",
         "gr" + stand_in + stand_in + "e"},
        {"cut \xe4\xb8", "cut " + stand_in + stand_in},
        {"overlong \xc0\xaf", "overlong " + stand_in + stand_in},
        {"\xe0\x80\xaf", stand_in + stand_in + stand_in},
        {"half \xed\xa0\x80", "half " + stand_in + stand_in + stand_in},
        {"\xf4\x90\x80\x80", stand_in + stand_in + stand_in + stand_in},
        {"\xf0\x9f\x90\x8c\xff", "\xf0\x9f\x90\x8c" + stand_in},
        {"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"},
    };
    for (const auto& [name, shown] : names) {
        EXPECT_EQ(first(trace_of({{.name = name.c_str(), .end_ps = 5}}), "X", shown)["dur"],
                  0.000005);
    }
}

TEST(trace_text, has_microseconds_with_as_many_decimals_as_they_need) {
    const std::string text =
        event_lines(1, std::vector<occurrence>{
                           {.name = "a", .start_ps = 1'234'567'000, .end_ps = 1'234'999'000},
                           {.name = "b", .start_ps = 5, .end_ps = 1'000'000'000'000'006},
                           {.name = "c", .start_ps = 2'000'000, .end_ps = 2'000'000},
                       });
    EXPECT_THAT(text, testing::HasSubstr(R"("ts":1234.567,"dur":0.432,)"));
    EXPECT_THAT(text, testing::HasSubstr(R"("ts":0.000005,"dur":1000000000.000001,)"));
    EXPECT_THAT(text, testing::HasSubstr(R"("ts":2,"dur":0,)"));
}

TEST(trace_text, tells_what_a_slice_is_about) {
    const json all = trace_of({
        {.name = "put",
         .kind = slice_kind::operation,
         .line = 3,
         .file = "a.cpp",
         .bytes = 64,
         .peer = 1},
        {.name = "answer", .kind = slice_kind::arrival, .peer = 1},
        {.name = "wait: signal", .kind = slice_kind::wait},
    });
    const json put = first(all, "X", "put");
    EXPECT_EQ(put["cat"], "operation");
    EXPECT_EQ(put["args"], json::parse(R"({"bytes": 64, "to": 1, "at": "a.cpp:3"})"));
    const json answer = first(all, "X", "answer");
    EXPECT_EQ(answer["args"], json::parse(R"({"bytes": 0, "from": 1})"));
    EXPECT_EQ(first(all, "X", "wait: signal")["args"], json::object());
    // What arrives may overlap with what the rank does: a track of its own.
    EXPECT_NE(answer["tid"], put["tid"]);
    EXPECT_EQ(first(all, "M", "thread_name")["tid"], put["tid"]);
}

/// They may overlap with what the rank does, and with what arrives meanwhile.
TEST(trace_text, puts_what_handlers_do_on_a_track_of_its_own) {
    for (const std::uint32_t rank : {0u, 7u, (1u << 20) - 2}) {
        const std::vector<occurrence> events{
            {.name = "message", .kind = slice_kind::arrival},
            {.name = "put", .kind = slice_kind::operation, .peer = 1},
            {.name = "atomic", .kind = slice_kind::operation, .is_handlers = true, .peer = 1},
        };
        const json all = trace_of(events, rank);
        std::set<std::uint64_t> tracks;
        for (const occurrence& each : events)
            tracks.insert(first(all, "X", each.name)["tid"].get<std::uint64_t>());
        EXPECT_EQ(tracks.size(), 3u);
        const json named = json::parse("[" + handlers_track_name(rank) + "{}]");
        EXPECT_EQ(named[0]["tid"], first(all, "X", "atomic")["tid"]);
        EXPECT_EQ(named[0]["args"]["name"], "rank " + std::to_string(rank) + " handlers");
    }
}

TEST(trace_text, begins_slices_by_time_and_what_encloses_first) {
    // They are recorded in the order of their ends.
    const json all = trace_of({
        {.name = "inner", .start_ps = 10, .end_ps = 20},
        {.name = "later", .start_ps = 30, .end_ps = 35},
        {.name = "outer", .start_ps = 10, .end_ps = 40},
    });
    EXPECT_THAT(order_of(all), testing::ElementsAre("X outer", "X inner", "X later"));
}

TEST(trace_text, puts_the_ends_of_arrows_behind_their_slices) {
    const json all = trace_of({
        {.name = "put", .start_ps = 10, .end_ps = 20, .flow_out = 0x1f},
        {.name = "arrival",
         .start_ps = 20,
         .end_ps = 20,
         .kind = slice_kind::arrival,
         .flow_in = 1,
         .flow_out = 2},
        {.name = "wait", .start_ps = 5, .end_ps = 20, .kind = slice_kind::wait, .flow_in = 2},
        {.name = "next", .start_ps = 20, .end_ps = 30},
    });
    EXPECT_THAT(order_of(all),
                testing::ElementsAre("X wait", "X put", "s message", "X arrival", "f message",
                                     "s message", "f message", "X next"));
    EXPECT_EQ(first(all, "s", "message")["id"], "0x1f");
    EXPECT_EQ(first(all, "s", "message")["ts"], first(all, "X", "put")["ts"]);
    // A wait is ended by what happens while it lasts, so its arrow ends when it does.
    const json end = all[all.size() - 3];
    EXPECT_EQ(end["tid"], first(all, "X", "wait")["tid"]);
    EXPECT_EQ(end["ts"], first(all, "X", "next")["ts"]);
    EXPECT_EQ(end["bp"], "e");
}

TEST(trace_text, puts_nothing_into_a_wait) {
    const json all = trace_of({
        {.name = "quiet", .start_ps = 10, .end_ps = 10, .kind = slice_kind::operation},
        {.name = "wait 1", .start_ps = 10, .end_ps = 10, .kind = slice_kind::wait, .flow_in = 1},
        {.name = "wait 2", .start_ps = 10, .end_ps = 30, .kind = slice_kind::wait, .flow_in = 2},
        {.name = "barrier", .start_ps = 10, .end_ps = 30, .kind = slice_kind::collective},
    });
    EXPECT_THAT(order_of(all), testing::ElementsAre("X barrier", "X quiet", "X wait 1", "f message",
                                                    "X wait 2", "f message"));
}

TEST(trace_text, of_a_wait_that_is_over_at_once_ends_its_arrow_behind_it) {
    const json all = trace_of(
        {{.name = "wait", .start_ps = 5, .end_ps = 5, .kind = slice_kind::wait, .flow_in = 2}});
    EXPECT_THAT(order_of(all), testing::ElementsAre("X wait", "f message"));
}

TEST(trace_text, of_nothing_is_json_too) { EXPECT_TRUE(trace_of({}).is_array()); }

TEST(trace_text, says_what_it_was_made_on) {
    const auto about = [](bool is_virtual) {
        const std::string text = trace_head({.machine = "m",
                                             .version = "1.2",
                                             .ranks = 3,
                                             .is_virtual = is_virtual,
                                             .event_cost_ps = 812'500}) +
                                 std::string(trace_tail());
        return first(json::parse(text), "M", "selion_trace")["args"];
    };
    EXPECT_EQ(about(false)["time"], "real");
    EXPECT_EQ(about(false)["event_cost_ns"], 812.5);
    EXPECT_EQ(about(false)["ranks"], 3);
    // Nothing of the host is in a trace of virtual time.
    EXPECT_EQ(about(true)["time"], "virtual");
    EXPECT_FALSE(about(true).contains("event_cost_ns"));
}

TEST(links, are_in_traces_and_meters) {
    const network_use use{{{"east \"1\"", 3, 24, 500, 60}, {"west", 0, 0, 0, 0}}, 2000};
    const json all = json::parse("[" + link_events(use) + std::string(trace_tail()));
    const json east = first(all, "M", "link")["args"];
    EXPECT_EQ(east["link"], "east \"1\"");
    EXPECT_EQ(east["wait_ps"], 60);
    EXPECT_EQ(east["run_ps"], 2000);
    EXPECT_EQ(first(all, "C", "east \"1\"")["args"]["mean use in percent"], 25);
    EXPECT_EQ(link_lines(use),
              R"({"link":"east \"1\"","messages":3,"bytes":24,"busy_ps":500,"wait_ps":60,)"
              R"("run_ps":2000})"
              "\n"
              R"({"link":"west","messages":0,"bytes":0,"busy_ps":0,"wait_ps":0,"run_ps":2000})"
              "\n");
}

class trace_buffer_test : public testing::Test {
protected:
    void fill(trace_buffer& buffer, int count) {
        for (int i = 0; i < count; ++i) buffer.add({.name = "put", .start_ps = i, .end_ps = i});
    }
    std::size_t slices() const {
        const json all = json::parse("[" + sink_.text() + std::string(trace_tail()));
        return static_cast<std::size_t>(
            std::ranges::count_if(all, [](const json& event) { return event["ph"] == "X"; }));
    }
    kept_parts sink_;
};

TEST_F(trace_buffer_test, writes_when_it_is_full_and_never_sooner) {
    trace_buffer buffer(3, {.events_at_once = 10}, sink_);
    fill(buffer, 10);
    EXPECT_EQ(sink_.parts.size(), 0u);
    fill(buffer, 1);
    EXPECT_EQ(sink_.parts.size(), 1u);
    EXPECT_EQ(slices(), 10u);
    buffer.write_end();
    EXPECT_EQ(slices(), 11u);
    EXPECT_EQ(buffer.events(), 11u);
    EXPECT_THAT(sink_.text(), testing::HasSubstr(R"("end_of_rank","args":{"events":11,)"));
    EXPECT_THAT(sink_.text(), testing::HasSubstr("\"rank 3\""));
}

TEST_F(trace_buffer_test, names_a_track_once) {
    trace_buffer buffer(3, {.events_at_once = 2}, sink_);
    for (int i = 0; i < 4; ++i) buffer.add({.name = "a", .kind = slice_kind::arrival});
    fill(buffer, 4);
    buffer.write();
    const json all = json::parse("[" + sink_.text() + std::string(trace_tail()));
    EXPECT_EQ(std::ranges::count_if(
                  all, [](const json& event) { return event["name"] == "thread_name"; }),
              2);
}

TEST_F(trace_buffer_test, takes_so_many_events_and_counts_the_rest) {
    trace_buffer buffer(0, {.events_at_once = 10, .events = 25}, sink_);
    fill(buffer, 30);
    buffer.write_end();
    EXPECT_EQ(slices(), 25u);
    EXPECT_EQ(buffer.dropped(), 5u);
    EXPECT_THAT(sink_.text(), testing::HasSubstr(R"("events":25,"dropped":5)"));
}

TEST_F(trace_buffer_test, stops_when_nobody_takes_more) {
    sink_.most_parts = 1;
    trace_buffer buffer(0, {.events_at_once = 10}, sink_);
    fill(buffer, 100);
    EXPECT_FALSE(sink_.text().empty());
    sink_.most_parts = 100;  // too late: a part is missing
    buffer.write_end();
    EXPECT_EQ(slices(), 10u);
    EXPECT_TRUE(buffer.is_refused());
    EXPECT_EQ(buffer.dropped(), 80u);
}

TEST_F(trace_buffer_test, writes_last_what_is_there_and_nothing_after) {
    trace_buffer buffer(0, {.events_at_once = 10}, sink_);
    fill(buffer, 7);
    buffer.write_last();
    EXPECT_EQ(slices(), 7u);
    fill(buffer, 30);
    buffer.write();
    buffer.write_end();
    EXPECT_EQ(slices(), 7u);
}

}  // namespace
}  // namespace selion::meters
