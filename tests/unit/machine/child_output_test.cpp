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
#include <thread>
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
    /// Has the output written elsewhere.
    void write_to(int target) {
        close(std::exchange(target_, target));
        const int source = dup(ends_[0]);
        output_.emplace(source, target_, "[3] ");
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

TEST_F(child_output_test, a_long_line_that_comes_in_parts_stays_whole) {
    print("one\ntwo, ");
    output_->pass_on();
    print("more, ");
    output_->pass_on();
    print("end\nthree\nfour");
    output_->pass_on();
    output_->pass_all();
    EXPECT_EQ(passed_on(), "[3] one\n[3] two, more, end\n[3] three\n[3] four\n");
    EXPECT_EQ(output_->trouble(), 0);
}

TEST_F(child_output_test, a_full_disk_is_told_and_the_process_goes_on) {
    write_to(open("/dev/full", O_WRONLY | O_CLOEXEC));
    print("one\ntwo\n");
    output_->pass_on();
    EXPECT_EQ(output_->trouble(), ENOSPC);
    EXPECT_GE(output_->file(), 0);
    EXPECT_EQ(child_output(std::move(*output_)).trouble(), ENOSPC);
}

TEST_F(child_output_test, where_nobody_reads_the_process_sees_it) {
    const ignored_signal nobody_ends_of_it(SIGPIPE);
    std::array<int, 2> reader{};
    ASSERT_EQ(pipe(reader.data()), 0);
    close(reader[0]);
    write_to(reader[1]);
    print("one\ntwo\n");
    output_->pass_on();
    EXPECT_EQ(output_->trouble(), EPIPE);
    EXPECT_EQ(output_->file(), -1);
    EXPECT_EQ(write(ends_[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
}

TEST_F(child_output_test, a_target_that_does_not_block_loses_no_line) {
    std::array<int, 2> reader{};
    ASSERT_EQ(pipe2(reader.data(), O_NONBLOCK), 0);
    fcntl(reader[1], F_SETPIPE_SZ, 4096);
    fcntl(reader[0], F_SETFL, 0);
    write_to(reader[1]);
    const std::string line(60'000, 'x');
    std::string got;
    std::jthread other([&] {
        std::array<char, 4096> block;
        while (got.size() < line.size() + 5) {
            const ssize_t bytes = read(reader[0], block.data(), block.size());
            if (bytes <= 0) break;
            got.append(block.data(), static_cast<std::size_t>(bytes));
        }
    });
    print(line + "\n");
    output_->pass_on();
    EXPECT_EQ(output_->trouble(), 0);
    close(std::exchange(target_, -1));
    other.join();
    close(reader[0]);
    EXPECT_EQ(got, "[3] " + line + "\n");
}

}  // namespace
}  // namespace selion::machine
