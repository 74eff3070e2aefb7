// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/process_deaths.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace selion::machine::fabric {
namespace {

/// Process 1 of 4.
struct observed {
    std::vector<std::uint32_t> told;
    bool are_leaving = false;
    bool has_ended = false;
    process_deaths deaths{
        {.own_process = 1,
         .processes = 4,
         .name_of = [](auto process) { return "process " + std::to_string(process); },
         .on_death = [this](auto process) { told.push_back(process); },
         .are_leaving = [this] { return are_leaving; },
         .end_self = [this] { has_ended = true; }}};

    bool is_readable(int milliseconds) const {
        pollfd one{deaths.file(), POLLIN, 0};
        return poll(&one, 1, milliseconds) > 0;
    }
    std::string look() {
        testing::internal::CaptureStderr();
        deaths.look();
        return testing::internal::GetCapturedStderr();
    }
};

using processes = std::vector<std::uint32_t>;

TEST(process_deaths, are_told_once_and_at_once) {
    observed job;
    EXPECT_FALSE(job.is_readable(0));
    job.deaths.note(3, "why");
    job.deaths.note(2, "why");
    job.deaths.note(3, "why not");
    EXPECT_EQ(job.told, (processes{3, 2}));
    EXPECT_EQ(job.deaths.all(), (processes{3, 2}));
    EXPECT_TRUE(job.deaths.is_dead(3));
    EXPECT_FALSE(job.deaths.is_dead(0));
    EXPECT_TRUE(job.is_readable(0));
    job.look();
    EXPECT_FALSE(job.is_readable(0));
}

TEST(process_deaths, the_lowest_one_that_lives_speaks) {
    observed job;
    job.deaths.note(2, "of hunger");
    EXPECT_EQ(job.look(), "");
    job.deaths.note(0, "of thirst");
    EXPECT_EQ(job.look(), "selion: process 0 has died: of thirst; the others go on\n");
    job.are_leaving = true;
    job.deaths.note(3, "of age");
    EXPECT_EQ(job.look(), "");
}

TEST(process_deaths, who_is_taken_for_dead_ends) {
    observed job;
    job.deaths.note(1, "others say so");
    EXPECT_FALSE(job.has_ended);  // another thread does it
    EXPECT_EQ(job.look(),
              "selion: process 1 is taken for dead by others and ends: others say so\n");
    EXPECT_TRUE(job.has_ended);
    EXPECT_TRUE(job.told.empty());
}

TEST(process_deaths, the_kernel_tells_of_one_that_is_killed) {
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    observed job;
    job.deaths.watch(2, child);
    EXPECT_FALSE(job.is_readable(0));
    kill(child, SIGKILL);
    EXPECT_TRUE(job.is_readable(60'000));
    job.look();
    EXPECT_EQ(job.told, (processes{2}));
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(job.is_readable(0));
    job.deaths.watch(3, child);  // has gone already
    EXPECT_EQ(job.told, (processes{2, 3}));
}

}  // namespace
}  // namespace selion::machine::fabric
