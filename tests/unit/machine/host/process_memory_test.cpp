// SPDX-License-Identifier: Apache-2.0
#include "machine/host/process_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "selion/error.hpp"

namespace selion::machine {
namespace {

/// A copy of this process that changes some numbers and then sleeps.
class process_memory_test : public testing::Test {
protected:
    process_memory_test() : numbers_(100'000) {
        EXPECT_EQ(pipe(ends_.data()), 0);
        child_ = fork();
        if (child_ != 0) {
            char letter = 0;
            EXPECT_EQ(read(ends_[0], &card_, sizeof card_), ssize_t(sizeof card_));
            EXPECT_EQ(read(ends_[0], &letter, 1), 1);
            return;
        }
        std::iota(numbers_.begin(), numbers_.end(), 7);
        const process_card own = own_process_card();
        const bool is_told = write(ends_[1], &own, sizeof own) == ssize_t(sizeof own) &&
                             write(ends_[1], "r", 1) == 1;
        if (is_told) pause();
        _exit(1);
    }
    ~process_memory_test() override {
        end_child();
        close(ends_[0]);
        close(ends_[1]);
    }
    void end_child() {
        if (child_ > 0) {
            kill(child_, SIGKILL);
            waitpid(child_, nullptr, 0);
        }
        child_ = 0;
    }
    std::vector<int> numbers_;
    std::array<int, 2> ends_{};
    pid_t child_ = 0;
    process_card card_;
};

TEST_F(process_memory_test, another_process_is_read_as_it_is) {
    if (!can_read_memory(card_)) GTEST_SKIP() << "the system forbids reading other processes";
    std::vector<int> found(numbers_.size());
    read_memory(card_.process, reinterpret_cast<std::uint64_t>(numbers_.data()),
                std::as_writable_bytes(std::span(found)));
    EXPECT_EQ(found.front(), 7);
    EXPECT_EQ(found.back(), 7 + 99'999);
    EXPECT_EQ(numbers_.back(), 0) << "the own numbers are others";
}

TEST_F(process_memory_test, what_is_written_there_is_read_there) {
    if (!can_read_memory(card_)) GTEST_SKIP() << "the system forbids reading other processes";
    const std::vector<int> given(5000, 42);
    const auto there = reinterpret_cast<std::uint64_t>(numbers_.data());
    write_memory(card_.process, there + 8, std::as_bytes(std::span(given)));
    std::vector<int> found(given.size() + 4);
    read_memory(card_.process, there, std::as_writable_bytes(std::span(found)));
    EXPECT_EQ(found[1], 8);
    EXPECT_EQ(std::count(found.begin(), found.end(), 42), 5000);
    EXPECT_EQ(found[2], 42);
    EXPECT_EQ(found[5002], 7 + 5002);
}

TEST_F(process_memory_test, the_wrong_process_of_that_number_is_not_taken_for_it) {
    process_card other = card_;
    ++other.secret;
    EXPECT_FALSE(can_read_memory(other));
    other = card_;
    other.place = 8;
    EXPECT_FALSE(can_read_memory(other));
    EXPECT_FALSE(can_read_memory({}));
}

TEST_F(process_memory_test, a_process_that_is_gone_is_an_error) {
    end_child();
    EXPECT_FALSE(can_read_memory(card_));
    int number = 0;
    try {
        read_memory(card_.process, reinterpret_cast<std::uint64_t>(numbers_.data()),
                    std::as_writable_bytes(std::span(&number, 1)));
        FAIL() << "nothing is there";
    } catch (const error& trouble) {
        EXPECT_EQ(trouble.code(), status::rank_dead);
    }
}

TEST(process_memory, the_own_process_can_always_be_read) {
    EXPECT_TRUE(can_read_memory(own_process_card()));
}

TEST(process_memory, a_process_that_is_not_to_be_read_has_an_empty_card) {
    setenv("SELION_PROCESS_MEMORY", "off", 1);
    EXPECT_EQ(own_process_card().process, 0);
    unsetenv("SELION_PROCESS_MEMORY");
}

}  // namespace
}  // namespace selion::machine
