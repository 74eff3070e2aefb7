// SPDX-License-Identifier: Apache-2.0
#include "world/locked_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
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

/// As on a full disk; without it the process would end by the signal.
TEST(locked_file, says_that_a_file_is_at_the_limit_of_its_size) {
    const std::string path = testing::TempDir() + "selion_limit_" + std::to_string(getpid());
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit little{10, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    bool fits = false;
    int trouble = 0;
    {
        const locked_file file(path, O_CREAT | O_APPEND);
        fits = file.append("0123456789") && !file.append("more");
        trouble = errno;
    }
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_TRUE(fits);
    EXPECT_EQ(trouble, EFBIG);
    sigset_t now{};
    sigpending(&now);
    EXPECT_EQ(sigismember(&now, SIGXFSZ), 0);
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    EXPECT_EQ(sigismember(&now, SIGXFSZ), 0);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace selion::detail
