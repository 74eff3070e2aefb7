// SPDX-License-Identifier: Apache-2.0
#include "world/claimed_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "world/locked_file.hpp"

namespace selion::detail {
namespace {

class claimed_file_test : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove(path_); }
    const std::string path_ = testing::TempDir() + "selion_claimed_" + std::to_string(getpid());
};

TEST_F(claimed_file_test, one_at_a_time_has_a_file) {
    claimed_file first;
    claimed_file second;
    EXPECT_TRUE(first.claim(path_));
    EXPECT_TRUE(std::filesystem::exists(path_));
    EXPECT_FALSE(second.claim(path_));
    first.give_back();
    EXPECT_TRUE(second.claim(path_));
}

TEST_F(claimed_file_test, does_not_keep_anybody_from_writing_parts) {
    claimed_file claim;
    ASSERT_TRUE(claim.claim(path_));
    {
        const locked_file part(path_, 0);
        ASSERT_TRUE(part.is_open());
        EXPECT_TRUE(part.append("text"));
    }
    std::ifstream file(path_);
    std::string text;
    file >> text;
    EXPECT_EQ(text, "text");
}

/// A child has its files.
TEST_F(claimed_file_test, is_free_again_while_a_child_lives_that_was_forked_meanwhile) {
    claimed_file first;
    ASSERT_TRUE(first.claim(path_));
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    first.give_back();
    claimed_file second;
    EXPECT_TRUE(second.claim(path_));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST_F(claimed_file_test, anybody_may_have_what_is_no_file) {
    claimed_file first;
    claimed_file second;
    EXPECT_TRUE(first.claim("/dev/null"));
    EXPECT_TRUE(second.claim("/dev/null"));
    EXPECT_TRUE(first.claim("/nonexistent/folder/file"));  // opening it to write tells why
}

}  // namespace
}  // namespace selion::detail
