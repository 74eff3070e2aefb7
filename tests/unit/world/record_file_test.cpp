// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "machine/process/run_history.hpp"
#include "selion/detail/record_name.hpp"
#include "selion/selion.hpp"
#include "unit/environment.hpp"

namespace selion {
namespace {

using nlohmann::json;

class record_file_test : public own_environment {
protected:
    record_file_test()
        : folder_(testing::TempDir() + "selion_record_" + std::to_string(getpid())),
          path_(folder_ + "/all.json") {  // in other tests as well: numbers go on
        std::filesystem::create_directory(folder_);
    }
    ~record_file_test() override { std::filesystem::remove_all(folder_); }

    /// By the last job that was told to write there.
    std::string written() const { return written_by(machine::writers_of(path_)); }
    std::string written_by(std::uint32_t job) const {
        std::ostringstream text;
        text << std::ifstream(path_of(job)).rdbuf();
        return text.str();
    }
    std::string path_of(std::uint32_t job) const {
        return folder_ + (job == 1 ? "/all.json" : "/all." + std::to_string(job) + ".json");
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
    std::string folder_;
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
    for (int job = 0; job < 2; ++job) {  // each has a file of its own
        ASSERT_EQ(run_job(), 0);
        std::istringstream lines(written());
        int puts = 0;
        int apples = 0;
        int heads = 0;
        for (std::string line; std::getline(lines, line);) {
            const json reading = json::parse(line);
            if (!reading.contains("name")) {
                EXPECT_EQ(reading["file"], "meters");
                EXPECT_EQ(reading["ranks"], 3);
                ++heads;
                continue;
            }
            if (reading["name"] == "put") {
                EXPECT_EQ(reading["count"], reading["rank"].get<int>() + 1);
                EXPECT_EQ(reading["bytes"], 8 * (reading["rank"].get<int>() + 1));
                ++puts;
            }
            if (reading["name"] == "apples") apples += reading["total"].get<int>();
        }
        EXPECT_EQ(puts, 3);
        EXPECT_EQ(apples, 6);
        EXPECT_EQ(heads, 1);
    }
}

TEST_F(record_file_test, meters_may_be_recorded_without_a_file) {
    set("SELION_METERS", "1");
    for (const char* word : {"1", "on", "yes", "true", "off", "0", "no", "false"}) {
        set("SELION_METERS", word);
        set("SELION_TRACE", std::string(word) == "1" ? "no" : word);
        ASSERT_EQ(run_job(), 0);
        EXPECT_EQ(written(), "");
        EXPECT_FALSE(std::filesystem::exists(word));
    }
}

TEST_F(record_file_test, a_later_job_leaves_the_files_of_those_before_it) {
    set("SELION_METERS", path_);
    ASSERT_EQ(run_job(), 0);
    const std::string first = written();
    EXPECT_NE(first, "");
    ASSERT_EQ(run_job(), 0);
    EXPECT_NE(written(), "");
    EXPECT_EQ(written_by(machine::writers_of(path_) - 1), first);
}

TEST_F(record_file_test, a_name_is_numbered_for_those_that_were_told_it) {
    set("SELION_METERS", path_);
    ASSERT_EQ(run_job(), 0);
    const std::string other = folder_ + "/other.json";
    set("SELION_METERS", folder_ + "/./other.json");
    ASSERT_EQ(run_job(), 0);
    EXPECT_TRUE(std::filesystem::exists(other));
    EXPECT_EQ(detail::name_for_other_job(other), folder_ + "/other.2.json");
    ASSERT_EQ(run_job(), 0);
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/other.3.json"));
    for (const char* name : {"", "off", "1", "/dev/stdout"}) {
        EXPECT_EQ(detail::name_for_other_job(name), name);
    }
}

TEST_F(record_file_test, jobs_that_a_rank_starts_have_names_of_its_own) {
    const std::string name = folder_ + "/mine.json";
    set("SELION_METERS", name);
    for (const char* number : {"", ".2"}) {
        ASSERT_EQ(run(0, nullptr, run_options{.machine = "threads:2"},
                      [&](world& all) {
                          const std::string own =
                              folder_ + "/mine" + number + ".rank-" + std::to_string(all.rank());
                          EXPECT_EQ(detail::name_for_other_job(name), own + ".json");
                          EXPECT_EQ(detail::name_for_other_job(name), own + ".2.json");
                      }),
                  0);
    }
}

TEST_F(record_file_test, meters_that_are_lost_are_told) {
    set("SELION_METERS", path_);
    testing::internal::CaptureStderr();
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit little{200, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    EXPECT_EQ(run_job(), 0);
    setrlimit(RLIMIT_FSIZE, &before);
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_THAT(told, testing::HasSubstr("meters of ranks are lost: cannot write"));
    EXPECT_EQ(told.find("lost"), told.rfind("lost")) << "once";
}

TEST_F(record_file_test, a_file_that_cannot_be_written_is_refused_before_the_ranks_start) {
    for (const auto& [name, file] :
         {std::pair("SELION_TRACE", "/dev/null/file"), std::pair("SELION_METERS", "/dev/null/file"),
          std::pair("SELION_TRACE", "/dev/full"), std::pair("SELION_METERS", "/dev/full")}) {
        set("SELION_TRACE", "");
        set("SELION_METERS", "");
        set(name, file);
        testing::internal::CaptureStderr();
        bool was_called = false;
        EXPECT_EQ(run(0, nullptr, run_options{.machine = "threads:1"},
                      [&](world&) { was_called = true; }),
                  2);
        EXPECT_FALSE(was_called);
        EXPECT_THAT(testing::internal::GetCapturedStderr(),
                    testing::AllOf(testing::HasSubstr(name), testing::HasSubstr(file)));
    }
}

}  // namespace
}  // namespace selion
