// SPDX-License-Identifier: Apache-2.0
#include "world/trace_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "meters/record/trace_text.hpp"

namespace selion::detail {
namespace {

using nlohmann::json;

class trace_file_test : public testing::Test {
protected:
    trace_file_test() : path_(testing::TempDir() + "selion_trace_" + std::to_string(getpid())) {
        std::remove(path_.c_str());
    }
    ~trace_file_test() override { std::remove(path_.c_str()); }

    static std::string head() { return meters::trace_head({.machine = "threads:1", .ranks = 1}); }
    static std::string line(int number) {
        return "{\"name\":\"" + std::to_string(number) + "\"},\n";
    }

    std::string text() const {
        std::ostringstream all;
        all << std::ifstream(path_).rdbuf();
        return all.str();
    }
    void append(const std::string& more) const { std::ofstream(path_, std::ios::app) << more; }
    /// Names of the events, without what is in every trace.
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const json& event : json::parse(text())) {
            if (!event.contains("ph")) all.push_back(event["name"]);
        }
        return all;
    }
    std::string path_;
};

TEST_F(trace_file_test, can_be_read_after_every_part) {
    trace_file file(path_);
    ASSERT_TRUE(file.begin(head()));
    EXPECT_THAT(names(), testing::IsEmpty());
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(file.write(line(i)));
        EXPECT_EQ(names().size(), static_cast<std::size_t>(i) + 1);
    }
    const std::string before = text();
    file.end();
    EXPECT_EQ(text(), before);
}

TEST_F(trace_file_test, begins_anew) {
    trace_file file(path_);
    append(std::string(100'000, 'x'));
    ASSERT_TRUE(file.begin(head()));
    EXPECT_THAT(names(), testing::IsEmpty());
}

/// What writers leave who were killed in the middle, one for each place where that may happen.
TEST_F(trace_file_test, is_mended_by_the_next_writer) {
    trace_file file(path_);
    ASSERT_TRUE(file.begin(head()));
    ASSERT_TRUE(file.write(line(1)));
    const std::string whole = text();
    const std::size_t end_of_line = whole.size() - meters::trace_tail().size();
    const std::string part = line(2) + line(3) + std::string(meters::trace_tail());
    for (std::size_t written = 0; written <= part.size(); ++written) {
        std::string broken = whole.substr(0, end_of_line) + part.substr(0, written);
        // What was there before has been overwritten from its beginning.
        if (broken.size() < whole.size()) broken += whole.substr(broken.size());
        std::ofstream(path_) << broken;
        ASSERT_TRUE(file.write(line(9)));
        const std::vector<std::string> all = names();
        ASSERT_GE(all.size(), 2u) << written;
        EXPECT_EQ(all.front(), "1");
        EXPECT_EQ(all.back(), "9");
        EXPECT_EQ(all.size(), written < line(2).size()       ? 2u
                              : written < 2 * line(2).size() ? 3u
                                                             : 4u);
    }
}

TEST_F(trace_file_test, is_mended_at_the_end) {
    trace_file file(path_);
    ASSERT_TRUE(file.begin(head()));
    ASSERT_TRUE(file.write(line(1)));
    ASSERT_EQ(
        truncate(path_.c_str(), static_cast<off_t>(text().size() - meters::trace_tail().size())),
        0);
    append(line(2) + "{\"name\":\"half a li");
    file.end();
    EXPECT_THAT(names(), testing::ElementsAre("1", "2"));
}

TEST_F(trace_file_test, is_mended_behind_a_half_written_long_line) {
    trace_file file(path_);
    ASSERT_TRUE(file.begin(head()));
    ASSERT_TRUE(file.write(line(1)));
    ASSERT_EQ(
        truncate(path_.c_str(), static_cast<off_t>(text().size() - meters::trace_tail().size())),
        0);
    append("{\"name\":\"" + std::string(1'000'000, 'x'));
    ASSERT_TRUE(file.write(line(2)));
    EXPECT_THAT(names(), testing::ElementsAre("1", "2"));
    EXPECT_LT(text().size(), 10'000u);
}

TEST_F(trace_file_test, takes_parts_of_several_writers_whole) {
    trace_file file(path_);
    ASSERT_TRUE(file.begin(head()));
    constexpr int parts = 50;
    {
        std::vector<std::jthread> writers;
        for (int writer = 0; writer < 4; ++writer) {
            writers.emplace_back([&, writer] {
                trace_file own(path_);  // as of another process
                for (int i = 0; i < parts; ++i) own.write(line(writer) + line(writer));
            });
        }
    }
    const std::vector<std::string> all = names();
    ASSERT_EQ(all.size(), 4u * parts * 2u);
    for (std::size_t i = 0; i < all.size(); i += 2) EXPECT_EQ(all[i], all[i + 1]);
}

TEST_F(trace_file_test, that_takes_no_more_is_told_once) {
    trace_file file(path_);
    ASSERT_TRUE(file.begin(head()));
    std::remove(path_.c_str());
    testing::internal::CaptureStderr();
    EXPECT_FALSE(file.write(line(1)));
    EXPECT_FALSE(file.write(line(2)));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "selion: the trace stops: cannot write " + path_ + " (No such file or directory)\n");
    EXPECT_EQ(access(path_.c_str(), F_OK), -1);
}

TEST_F(trace_file_test, may_be_a_pipe) {
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    std::string all;
    std::jthread reader([&] {
        std::FILE* const file = std::fopen(path_.c_str(), "r+");  // stays open between the parts
        for (int c = 0; !all.ends_with("]\n") && (c = std::fgetc(file)) != EOF;) {
            all += static_cast<char>(c);
        }
        std::fclose(file);
    });
    trace_file file(path_);
    ASSERT_TRUE(file.begin(head()));
    ASSERT_TRUE(file.write(line(1)));
    file.end();
    reader.join();
    EXPECT_EQ(all, head() + line(1) + std::string(meters::trace_tail()));
}

}  // namespace
}  // namespace selion::detail
