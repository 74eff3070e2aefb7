// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

namespace selion::machine::fabric {
namespace {

using testing::HasSubstr;

/// In a process of its own, whose limits nobody misses. @return what it exits with
int in_child(int (*check)()) {
    const pid_t child = fork();
    if (child == 0) _exit(check());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

rlim_t soft_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

TEST(limits, a_low_limit_of_files_is_raised) {
    EXPECT_EQ(in_child([] {
                  rlimit limit{};
                  getrlimit(RLIMIT_NOFILE, &limit);
                  limit.rlim_cur = 20;
                  setrlimit(RLIMIT_NOFILE, &limit);
                  const bool is_enough = raise_file_limit(50, 1).empty();
                  return is_enough && soft_limit() >= 132 ? 7 : 1;
              }),
              7);
}

TEST(limits, each_rank_of_a_process_has_connections_of_its_own) {
    EXPECT_EQ(in_child([] {
                  rlimit limit{};
                  getrlimit(RLIMIT_NOFILE, &limit);
                  limit.rlim_cur = 20;
                  setrlimit(RLIMIT_NOFILE, &limit);
                  const bool is_enough = raise_file_limit(50, 4).empty();
                  return is_enough && soft_limit() >= 4 * 132 ? 7 : 1;
              }),
              7);
}

TEST(limits, one_that_is_high_enough_stays) {
    const rlim_t before = soft_limit();
    EXPECT_EQ(raise_file_limit(2, 1), "");
    EXPECT_EQ(soft_limit(), before);
}

TEST(limits, one_that_cannot_be_raised_is_told_with_the_cure) {
    EXPECT_EQ(in_child([] {
                  const rlimit limit{60, 60};
                  setrlimit(RLIMIT_NOFILE, &limit);
                  const std::string told = raise_file_limit(100, 1);
                  return told.starts_with("it may open 60 files and needs 2") &&
                                 told.find("ulimit -n 2") != std::string::npos
                             ? 7
                             : 1;
              }),
              7);
}

TEST(limits, a_process_with_fewer_processors_than_ranks_is_told_of) {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "the host has one processor";
    EXPECT_EQ(warning_of_binding(1), "");
    EXPECT_EQ(in_child([] {
                  cpu_set_t one;
                  CPU_ZERO(&one);
                  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
                  sched_setaffinity(0, sizeof one, &one);
                  const std::string told = warning_of_binding(2);
                  return told.find("a process of 2 ranks to 1 of ") != std::string::npos &&
                                 told.find("slot:PE=2") != std::string::npos
                             ? 7
                             : 1;
              }),
              7);
}

TEST(limits, errors_that_come_of_limits_have_cures) {
    EXPECT_THAT(cure_of_limit(EMFILE), HasSubstr("ulimit -n"));
    EXPECT_THAT(cure_of_limit(ENOMEM), HasSubstr("ulimit -l"));
    EXPECT_EQ(cure_of_limit(EINVAL), "");
}

}  // namespace
}  // namespace selion::machine::fabric
