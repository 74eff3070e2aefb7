// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/child_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace selion::machine {
namespace {

/// Has no effect while this lives.
class ignored_signal {
public:
    explicit ignored_signal(int number) : number_(number), before_(signal(number, SIG_IGN)) {}
    ~ignored_signal() { signal(number_, before_); }
    ignored_signal(const ignored_signal&) = delete;
    ignored_signal& operator=(const ignored_signal&) = delete;

private:
    int number_;
    sighandler_t before_;
};

/// What a process prints goes in; what is passed on lies in a file.
class child_output_test : public testing::Test {
protected:
    child_output_test() {
        EXPECT_EQ(pipe(ends_.data()), 0);
        file_ = memfd_create("target", MFD_CLOEXEC);
        target_.emplace(file_);
        output_.emplace(ends_[0], *target_, "[3] ");
    }
    ~child_output_test() override {
        output_.reset();
        close_source();
        target_.reset();
        close(file_);
    }
    void print(std::string_view text) {
        EXPECT_EQ(write(ends_[1], text.data(), text.size()), ssize_t(text.size()));
    }
    /// Has the output written elsewhere.
    void write_to(int file) {
        const int source = dup(ends_[0]);
        output_.reset();
        target_.emplace(file);
        close(std::exchange(file_, file));
        output_.emplace(source, *target_, "[3] ");
    }
    void pass_on() {
        output_->pass_on();
        target_->write_some();
    }
    bool pass_all() {
        const bool is_all = output_->pass_all();
        target_->write_some();
        return is_all;
    }
    void close_source() {
        if (ends_[1] >= 0) close(ends_[1]);
        ends_[1] = -1;
    }
    std::string passed_on(std::size_t most = 1 << 16) const {
        std::string text(most, '\0');
        const ssize_t bytes = pread(file_, text.data(), text.size(), 0);
        text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
        return text;
    }

    std::array<int, 2> ends_{};
    int file_ = -1;
    std::optional<output_target> target_;
    std::optional<child_output> output_;
};

TEST_F(child_output_test, each_line_gets_the_prefix) {
    print("one\ntwo\n\n");
    pass_on();
    EXPECT_EQ(passed_on(), "[3] one\n[3] two\n[3] \n");
}

TEST_F(child_output_test, a_line_waits_until_it_is_whole) {
    print("first half, ");
    pass_on();
    EXPECT_EQ(passed_on(), "");
    print("second half\nnext");
    pass_on();
    EXPECT_EQ(passed_on(), "[3] first half, second half\n");
}

TEST_F(child_output_test, the_last_line_needs_no_end) {
    print("done\nlast words");
    close_source();
    pass_on();
    EXPECT_EQ(passed_on(), "[3] done\n[3] last words\n");
    EXPECT_EQ(output_->file(), -1);
}

TEST_F(child_output_test, what_is_left_is_passed_on_at_the_end) {
    print("one\nrest");
    EXPECT_TRUE(pass_all());
    EXPECT_EQ(passed_on(), "[3] one\n[3] rest\n");
}

TEST_F(child_output_test, moves_with_what_it_holds) {
    print("half");
    pass_on();
    child_output moved = std::move(*output_);
    print(" whole\n");
    moved.pass_on();
    target_->write_some();
    EXPECT_EQ(passed_on(), "[3] half whole\n");
}

TEST_F(child_output_test, long_lines_stay_whole) {
    const std::string line(40'000, 'x');
    print(line + "\n");
    pass_on();
    EXPECT_EQ(passed_on(), "[3] " + line + "\n");
}

TEST_F(child_output_test, a_long_line_that_comes_in_parts_stays_whole) {
    print("one\ntwo, ");
    pass_on();
    print("more, ");
    pass_on();
    print("end\nthree\nfour");
    pass_on();
    EXPECT_TRUE(pass_all());
    EXPECT_EQ(passed_on(), "[3] one\n[3] two, more, end\n[3] three\n[3] four\n");
    EXPECT_EQ(target_->trouble(), 0);
}

TEST_F(child_output_test, a_full_disk_is_told_and_the_process_goes_on) {
    write_to(open("/dev/full", O_WRONLY | O_CLOEXEC));
    print("one\ntwo\n");
    pass_on();
    EXPECT_EQ(target_->trouble(), ENOSPC);
    EXPECT_GE(output_->file(), 0);
}

TEST_F(child_output_test, where_nobody_reads_the_process_sees_it) {
    const ignored_signal nobody_ends_of_it(SIGPIPE);
    std::array<int, 2> reader{};
    ASSERT_EQ(pipe(reader.data()), 0);
    close(reader[0]);
    write_to(reader[1]);
    print("one\ntwo\n");
    pass_on();
    pass_on();
    EXPECT_EQ(target_->trouble(), EPIPE);
    EXPECT_EQ(output_->file(), -1);
    EXPECT_EQ(write(ends_[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
}

TEST_F(child_output_test, a_full_target_is_not_waited_for_and_loses_no_line) {
    std::array<int, 2> reader{};
    ASSERT_EQ(pipe2(reader.data(), O_CLOEXEC), 0);
    fcntl(reader[1], F_SETPIPE_SZ, 4096);
    write_to(reader[1]);
    const std::string line(60'000, 'x');
    std::string wanted;
    for (int i = 0; i < 8; ++i) {
        print(line + "\n");
        pass_on();
        wanted += "[3] " + line + "\n";
        if (target_->is_full()) break;
    }
    EXPECT_TRUE(target_->is_full());
    print("the last\n");
    pass_on();
    EXPECT_FALSE(pass_all()) << "the target has no room for it";
    wanted += "[3] the last\n";
    std::string got;
    std::array<char, 4096> block;
    for (bool is_all = false; !is_all || target_->has_waiting();) {
        const ssize_t bytes = read(reader[0], block.data(), block.size());
        ASSERT_GT(bytes, 0);
        got.append(block.data(), static_cast<std::size_t>(bytes));
        is_all = pass_all();
    }
    while (got.size() < wanted.size()) {
        const ssize_t bytes = read(reader[0], block.data(), block.size());
        ASSERT_GT(bytes, 0);
        got.append(block.data(), static_cast<std::size_t>(bytes));
    }
    close(reader[0]);
    EXPECT_EQ(target_->trouble(), 0);
    EXPECT_EQ(got, wanted);
}

TEST_F(child_output_test, a_line_without_end_is_cut) {
    const std::string part(50'000, 'x');
    std::size_t printed = 0;
    while (printed < child_output::longest_line) {
        print(part);
        pass_on();
        printed += part.size();
    }
    EXPECT_EQ(passed_on(4 << 20), "[3] " + std::string(printed, 'x') + "\n");
}

}  // namespace
}  // namespace selion::machine
