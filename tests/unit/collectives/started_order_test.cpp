// SPDX-License-Identifier: Apache-2.0
#include "collectives/started_order.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <deque>
#include <vector>

namespace selion::collectives {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct started {
    std::uint64_t start;
    collective_name called;
    const started* behind = nullptr;

    std::uint64_t number() const { return start; }
    const collective_name& name() const { return called; }
    bool awaits(const started& other) const { return behind == &other; }
};

class started_order_test : public testing::Test {
protected:
    started& start(std::uint64_t team, const started* behind = nullptr) {
        const std::uint64_t number = all_.size() + 1;
        order_.add(all_.emplace_back(number, collective_name{team, number}, behind));
        return all_.back();
    }
    /// Those that have a reason to go on, which they have had then.
    std::vector<std::uint64_t> take() {
        std::vector<std::uint64_t> taken;
        while (const started* const one = order_.next()) taken.push_back(one->number());
        return taken;
    }

    std::deque<started> all_;
    started_order<started> order_;
};

TEST_F(started_order_test, what_is_new_goes_on_once) {
    const started& first = start(1);
    start(2);
    EXPECT_EQ(order_.find({1, 1}), &first);
    EXPECT_EQ(order_.find({1, 2}), nullptr);
    EXPECT_EQ(order_.oldest(), &first);
    EXPECT_THAT(take(), ElementsAre(1, 2));
    EXPECT_THAT(take(), IsEmpty());
}

TEST_F(started_order_test, a_reason_counts_for_one_and_once) {
    for (int i = 0; i < 9; ++i) start(1);
    take();
    order_.wake(*order_.find({1, 7}));
    order_.wake(*order_.find({1, 3}));
    order_.wake(*order_.find({1, 7}));
    EXPECT_THAT(take(), ElementsAre(3, 7));
    order_.wake_all();
    EXPECT_THAT(take(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(started_order_test, the_end_of_a_meeting_is_a_reason_for_those_behind_it) {
    started& meeting = start(1);
    start(2, &meeting);  // of another team, which follows no meeting of this one
    start(1, &meeting);
    started& next = start(1, &meeting);
    start(1, &next);
    take();
    order_.remove(meeting);
    EXPECT_THAT(take(), ElementsAre(3, 4));
    order_.remove(next);
    EXPECT_THAT(take(), ElementsAre(5));
    EXPECT_EQ(order_.find({1, 1}), nullptr);
    EXPECT_EQ(order_.oldest()->number(), 2u);
}

TEST_F(started_order_test, what_is_over_goes_on_no_more) {
    started& only = start(1);
    order_.remove(only);
    EXPECT_THAT(take(), IsEmpty());
    EXPECT_EQ(order_.oldest(), nullptr);
}

}  // namespace
}  // namespace selion::collectives
