// SPDX-License-Identifier: Apache-2.0
#include "world/locked_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace selion::detail {
namespace {

/// A child has its files, and would keep them locked.
TEST(locked_file, is_free_again_while_a_child_lives_that_was_forked_meanwhile) {
    const std::string path = testing::TempDir() + "selion_locked_" + std::to_string(getpid());
    pid_t child = 0;
    {
        const locked_file file(path, O_CREAT);
        ASSERT_TRUE(file.is_open());
        child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
    }
    const int again = open(path.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(flock(again, LOCK_EX | LOCK_NB), 0);
    close(again);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace selion::detail
