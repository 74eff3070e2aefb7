// SPDX-License-Identifier: Apache-2.0
// What a wait does before it takes the machine's way to wait: how often it looks at the word, and
// at what has come. The time that it spins after that is patience's, and has tests of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "machine/machine.hpp"
#include "onesided/waiting.hpp"

namespace selion::onesided {
namespace {

/// Counts looks at what has come, and waits; brings what the test wants at one of them.
class watched_machine final : public machine::transport, public machine::clock {
public:
    std::function<void()> on_poll = [] {};
    std::function<void()> on_wait = [] {};
    int polls = 0;
    int waits = 0;
    bool serves = false;  ///< with each poll

    bool poll(detail::rank_context&) override {
        ++polls;
        on_poll();
        return serves;
    }
    bool wait(detail::rank_context&, const machine::wait_request& request) override {
        ++waits;
        on_wait();
        return request.has_arrived();
    }

    void put(detail::rank_context&, const detail::put_request&) override { std::abort(); }
    void get(detail::rank_context&, void*, std::uint64_t, std::size_t) override { std::abort(); }
    void start_get(detail::rank_context&, const detail::get_request&) override { std::abort(); }
    std::uint64_t atomic(detail::rank_context&, const detail::atomic_request&) override {
        std::abort();
    }
    void start_atomic(detail::rank_context&, const detail::atomic_request&,
                      const detail::atomic_answer&) override {
        std::abort();
    }
    void quiet(detail::rank_context&) override { std::abort(); }
    void quiet(detail::rank_context&, std::uint32_t) override { std::abort(); }
    void send(detail::rank_context&, const machine::message_request&) override { std::abort(); }
    bool can_lend(const detail::rank_context&, std::uint32_t, const void*,
                  std::size_t) const override {
        return false;
    }
    std::uint64_t most_message_bytes() const override { return 0; }
    std::int64_t now_ns() override { return 0; }
    void wake(detail::rank_context&, detail::shared_word&) override {}
    void count(detail::rank_context&, detail::shared_word&) override {}
};

class brief_wait : public testing::Test {
protected:
    brief_wait() {
        context_.ranks = 1;
        context_.has_one_thread = true;
        context_.transport = &host_;
        context_.clock = &host_;
        detail::current_context = &context_;
    }
    ~brief_wait() override { detail::current_context = outer_; }

    bool arrives(std::int64_t timeout_ns = detail::wait_for_ever) {
        return detail::arrives_with_progress(context_, word_, 1, timeout_ns);
    }
    void await_one() { detail::await_word(context_, {word_, 1, machine::wait_reason::collective}); }

    watched_machine host_;
    detail::rank_context context_;
    detail::shared_word word_{};

private:
    detail::rank_context* const outer_ = detail::current_context;
};

TEST_F(brief_wait, takes_a_word_that_is_there_without_a_look_at_anything_else) {
    word_.value = 1;
    await_one();
    context_.brief_polls = 4;
    EXPECT_TRUE(arrives());
    EXPECT_EQ(host_.polls, 0);
    EXPECT_EQ(host_.waits, 0);
}

TEST_F(brief_wait, takes_the_way_to_wait_once_it_has_looked_in_vain) {
    host_.on_wait = [this] { word_.value = 1; };
    for (const std::uint32_t looks : {0u, 1u, 64u}) {
        word_.value = 0;
        context_.brief_looks = looks;
        await_one();
    }
    EXPECT_EQ(host_.waits, 3);
    EXPECT_EQ(host_.polls, 0);  // a collective's words tell by themselves
}

TEST_F(brief_wait, looks_at_what_has_come_as_often_as_it_is_told_to) {
    for (const std::uint32_t polls : {0u, 1u, 8u, 64u}) {
        host_.polls = 0;
        context_.brief_polls = polls;
        EXPECT_FALSE(arrives());
        EXPECT_EQ(host_.polls, static_cast<int>(polls));
    }
    EXPECT_EQ(host_.waits, 0);
}

TEST_F(brief_wait, ends_with_the_look_that_brings_the_word) {
    context_.brief_polls = 64;
    host_.on_poll = [this] {
        if (host_.polls == 3) word_.value = 1;
    };
    EXPECT_TRUE(arrives());
    EXPECT_EQ(host_.polls, 3);
}

TEST_F(brief_wait, with_a_limit_ends_once_a_handler_has_run) {
    context_.brief_polls = 64;
    host_.serves = true;
    EXPECT_FALSE(arrives(0));
    EXPECT_EQ(host_.polls, 1);
    EXPECT_FALSE(arrives());
    EXPECT_EQ(host_.polls, 1 + 64);
    host_.on_poll = [this] { word_.value = 1; };
    EXPECT_TRUE(arrives(1'000'000));
    EXPECT_EQ(host_.polls, 1 + 64 + 1);
}

TEST_F(brief_wait, leaves_what_has_come_to_the_thread_that_serves_beside_it) {
    context_.brief_polls = 64;
    context_.has_one_thread = false;
    EXPECT_FALSE(arrives());
    EXPECT_EQ(host_.polls, 0);
}

}  // namespace
}  // namespace selion::onesided
