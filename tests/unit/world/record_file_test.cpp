// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "selion/selion.hpp"
#include "unit/environment.hpp"

namespace selion {
namespace {

using nlohmann::json;

class record_file_test : public own_environment {
protected:
    record_file_test() : path_(testing::TempDir() + "selion_record_" + std::to_string(getpid())) {
        std::remove(path_.c_str());
    }
    ~record_file_test() override { std::remove(path_.c_str()); }

    std::string written() const {
        std::ostringstream text;
        text << std::ifstream(path_).rdbuf();
        return text.str();
    }
    /// A small job: each rank puts as often as its number, and all meet.
    static int run_job() {
        return run(0, nullptr, run_options{.machine = "threads:3"}, [](world& all) {
            const auto cell = allocate<std::uint64_t>(all, 1);
            for (std::uint32_t i = 0; i <= all.rank(); ++i) put(cell, std::uint64_t{i});
            { const timer_scope timer("work with \"quotes\""); }
            count("apples", 2);
            all.barrier();
            deallocate(all, cell);
        });
    }
    std::string path_;
};

TEST_F(record_file_test, a_trace_of_all_ranks_is_json) {
    set("SELION_TRACE", path_);
    ASSERT_EQ(run_job(), 0);
    const json all = json::parse(written());
    for (int rank = 0; rank < 3; ++rank) {
        const auto count = [&](const char* name) {
            return std::ranges::count_if(all, [&](const json& event) {
                return event["name"] == name && event.value("tid", -1) == 2 * rank + 1 &&
                       event["ph"] == "X";
            });
        };
        EXPECT_EQ(count("put"), rank + 1);
        EXPECT_EQ(count("barrier"), 1);
        EXPECT_EQ(count("work with \"quotes\""), 1);
    }
    EXPECT_EQ(std::ranges::count_if(
                  all, [](const json& event) { return event["name"] == "end_of_rank"; }),
              3);
    EXPECT_TRUE(std::ranges::any_of(all, [](const json& event) {
        return event["name"] == "process_name" &&
               event["args"]["name"].get<std::string>().find("threads:3") != std::string::npos;
    }));
}

TEST_F(record_file_test, meters_of_all_ranks_are_json_lines) {
    set("SELION_METERS", path_);
    for (int job = 0; job < 2; ++job) {  // a file is begun anew, not appended to
        ASSERT_EQ(run_job(), 0);
        std::istringstream lines(written());
        int puts = 0;
        int apples = 0;
        for (std::string line; std::getline(lines, line);) {
            const json reading = json::parse(line);
            if (reading["name"] == "put") {
                EXPECT_EQ(reading["count"], reading["rank"].get<int>() + 1);
                EXPECT_EQ(reading["bytes"], 8 * (reading["rank"].get<int>() + 1));
                ++puts;
            }
            if (reading["name"] == "apples") apples += reading["total"].get<int>();
        }
        EXPECT_EQ(puts, 3);
        EXPECT_EQ(apples, 6);
    }
}

TEST_F(record_file_test, meters_may_be_recorded_without_a_file) {
    set("SELION_METERS", "1");
    ASSERT_EQ(run_job(), 0);
    EXPECT_EQ(written(), "");
    std::ifstream file("1");
    EXPECT_FALSE(file.is_open());
}

TEST_F(record_file_test, a_file_that_cannot_be_written_is_refused_before_the_ranks_start) {
    for (const char* name : {"SELION_TRACE", "SELION_METERS"}) {
        set("SELION_TRACE", "");
        set("SELION_METERS", "");
        set(name, "/no/such/folder/file");
        testing::internal::CaptureStderr();
        bool was_called = false;
        EXPECT_EQ(run(0, nullptr, run_options{.machine = "threads:1"},
                      [&](world&) { was_called = true; }),
                  2);
        EXPECT_FALSE(was_called);
        EXPECT_THAT(
            testing::internal::GetCapturedStderr(),
            testing::AllOf(testing::HasSubstr(name), testing::HasSubstr("/no/such/folder/file")));
    }
}

}  // namespace
}  // namespace selion
