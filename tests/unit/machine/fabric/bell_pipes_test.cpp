// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/bell_pipes.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/machine/mapping_parts.hpp"

namespace selion::machine::fabric {
namespace {

bool is_readable(int file) {
    pollfd one{file, POLLIN, 0};
    return poll(&one, 1, 0) == 1;
}

/// Whether a process of its own can do it.
template <class Deed>
bool in_other_process(Deed deed) {
    const pid_t child = fork();
    if (child == 0) {
        deed();
        _exit(0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

TEST(bell_pipes, a_ring_lasts_until_it_is_taken) {
    const node::shared_mapping mapping = node::small_mapping(2, 1, true);
    bell_pipes own(mapping);
    own.open(0);
    EXPECT_FALSE(is_readable(own.file(0)));
    own.ring(0);
    own.ring(0);
    EXPECT_TRUE(is_readable(own.file(0)));
    own.hush(0);
    EXPECT_FALSE(is_readable(own.file(0)));
}

TEST(bell_pipes, another_process_rings) {
    const node::shared_mapping mapping = node::small_mapping(2, 1, true);
    bell_pipes own(mapping);
    own.open(1);
    EXPECT_TRUE(in_other_process([&] {
        bell_pipes others(mapping);
        for (int i = 0; i < 3; ++i) others.ring(1);
    }));
    EXPECT_TRUE(is_readable(own.file(1)));
    own.hush(1);
    EXPECT_FALSE(is_readable(own.file(1))) << "others have gone, and the pipe is still written";
}

TEST(bell_pipes, a_full_pipe_is_rung_without_waiting) {
    const node::shared_mapping mapping = node::small_mapping(1, 1, true);
    bell_pipes own(mapping);
    own.open(0);
    for (int i = 0; i < 100'000; ++i) own.ring(0);
    EXPECT_TRUE(is_readable(own.file(0)));
    own.hush(0);
    EXPECT_FALSE(is_readable(own.file(0)));
}

TEST(bell_pipes, a_file_that_is_not_the_bells_is_left_alone) {
    const node::shared_mapping mapping = node::small_mapping(2, 1, true);
    bell_pipes own(mapping);
    own.open(0);
    own.open(1);
    mapping.bell(0).pipe = mapping.bell(1).pipe;  // as if the number had been given away
    bell_pipes others(mapping);
    others.ring(0);
    EXPECT_FALSE(is_readable(own.file(1)));
    mapping.bell(0).process = INT32_MAX;
    others.ring(0);
}

TEST(bell_pipes, who_has_no_pipe_yet_is_not_rung) {
    const node::shared_mapping mapping = node::small_mapping(2, 1, true);
    bell_pipes own(mapping);
    own.ring(1);
    EXPECT_EQ(own.file(1), -1);
}

}  // namespace
}  // namespace selion::machine::fabric
