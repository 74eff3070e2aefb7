// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/child_output.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string_view>

namespace selion::machine {
namespace {

/// What a process prints goes in; what is passed on lies in a file.
class child_output_test : public testing::Test {
protected:
    child_output_test() {
        EXPECT_EQ(pipe(ends_.data()), 0);
        target_ = memfd_create("target", MFD_CLOEXEC);
        output_.emplace(ends_[0], target_, "[3] ");
    }
    ~child_output_test() override {
        output_.reset();
        close_source();
        close(target_);
    }
    void print(std::string_view text) {
        EXPECT_EQ(write(ends_[1], text.data(), text.size()), ssize_t(text.size()));
    }
    void close_source() {
        if (ends_[1] >= 0) close(ends_[1]);
        ends_[1] = -1;
    }
    std::string passed_on() const {
        std::string text(1 << 16, '\0');
        const ssize_t bytes = pread(target_, text.data(), text.size(), 0);
        text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
        return text;
    }

    std::array<int, 2> ends_{};
    int target_ = -1;
    std::optional<child_output> output_;
};

TEST_F(child_output_test, each_line_gets_the_prefix) {
    print("one\ntwo\n\n");
    output_->pass_on();
    EXPECT_EQ(passed_on(), "[3] one\n[3] two\n[3] \n");
}

TEST_F(child_output_test, a_line_waits_until_it_is_whole) {
    print("first half, ");
    output_->pass_on();
    EXPECT_EQ(passed_on(), "");
    print("second half\nnext");
    output_->pass_on();
    EXPECT_EQ(passed_on(), "[3] first half, second half\n");
}

TEST_F(child_output_test, the_last_line_needs_no_end) {
    print("done\nlast words");
    close_source();
    output_->pass_on();
    EXPECT_EQ(passed_on(), "[3] done\n[3] last words\n");
    EXPECT_EQ(output_->file(), -1);
}

TEST_F(child_output_test, what_is_left_is_passed_on_at_the_end) {
    print("one\nrest");
    output_.reset();
    EXPECT_EQ(passed_on(), "[3] one\n[3] rest\n");
}

TEST_F(child_output_test, moves_with_what_it_holds) {
    print("half");
    output_->pass_on();
    child_output moved = std::move(*output_);
    print(" whole\n");
    moved.pass_on();
    EXPECT_EQ(passed_on(), "[3] half whole\n");
}

TEST_F(child_output_test, long_lines_stay_whole) {
    const std::string line(40'000, 'x');
    print(line + "\n");
    output_->pass_on();
    EXPECT_EQ(passed_on(), "[3] " + line + "\n");
}

}  // namespace
}  // namespace selion::machine
