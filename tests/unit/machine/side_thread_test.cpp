// SPDX-License-Identifier: Apache-2.0
#include "machine/node/side_thread.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

#include "machine/call_record.hpp"
#include "machine/waiter.hpp"

namespace selion::machine::node {
namespace {

/// The calls of these tests wait for nothing.
class no_waiter final : public waiter {
public:
    bool wait(const wait_request&) override { return false; }
    void end_early() override {}
};

/// One that takes so long that the others wait behind it when the end begins.
void make_slowly(detail::rank_context&, void* made) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    static_cast<std::vector<int>*>(made)->push_back(1);
}

template <int number>
void make(detail::rank_context&, void* made) {
    static_cast<std::vector<int>*>(made)->push_back(number);
}

TEST(side_thread, makes_calls_in_order_and_those_that_are_left_at_its_end) {
    std::vector<int> made;
    const detail::rank_context rank;
    call_record record{};
    {
        side_thread beside(rank, std::make_unique<no_waiter>(), record);
        for (const auto call : {make_slowly, make<2>, make<3>}) beside.add(call, &made);
    }
    EXPECT_EQ(made, (std::vector{1, 2, 3}));
}

TEST(side_thread, works_for_the_rank_and_is_not_its_own_thread) {
    detail::rank_context rank;
    rank.rank = 7;
    call_record record{};
    struct seen {
        std::uint32_t rank = 0;
        bool is_foreign = false;
        bool is_current = false;
        std::string call;
    } found;
    {
        side_thread beside(rank, std::make_unique<no_waiter>(), record);
        const auto look = [](detail::rank_context& own, void* into) {
            const call_scope scope(own, operation::wait_signal, std::source_location::current());
            *static_cast<seen*>(into) = {own.rank, own.is_foreign_thread,
                                         detail::current_context == &own,
                                         last_call_text(*own.beside)};
        };
        beside.add(look, &found);
    }
    EXPECT_EQ(found.rank, 7u);
    EXPECT_TRUE(found.is_foreign && found.is_current);
    EXPECT_THAT(found.call, testing::StartsWith("in wait_until at "));
    EXPECT_THAT(last_call_text(record), testing::StartsWith("in its own code, after wait_until"));
    EXPECT_FALSE(rank.is_foreign_thread);
}

}  // namespace
}  // namespace selion::machine::node
