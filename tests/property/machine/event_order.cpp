// SPDX-License-Identifier: Apache-2.0
/// The queue of pending events gives them back in the order of their times, whatever it keeps
/// where.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "machine/sim/engine/event_queue.hpp"

namespace selion::machine::sim {
namespace {

struct earlier {
    bool operator()(const due_time& left, const due_time& right) const {
        return left.at != right.at ? left.at < right.at : left.order < right.order;
    }
};

/// Adds and takes at random, with times not before the last one taken, as an engine does; `spread`
/// is how far ahead, so a small one makes many equal times.
RC_GTEST_PROP(event_queue, takes_the_earliest_and_sees_those_behind_it, ()) {
    const auto spread = *rc::gen::element<ticks>(1, 10, 100'000);
    const auto most = *rc::gen::element<std::size_t>(8, 40, 100, 1'000);
    const auto steps = *rc::gen::inRange(0, 3'000);
    // Each before those that are there: all would like to be among the next ones.
    const bool falls = *rc::gen::arbitrary<bool>();
    const auto taken_of_8 = *rc::gen::inRange(1u, 6u);
    event_queue queue;
    std::set<due_time, earlier> expected;
    ticks now = 0;
    std::minstd_rand random(*rc::gen::inRange(1u, 1'000'000u));
    for (int step = 0; step < steps; ++step) {
        if (expected.size() < most && (expected.empty() || random() % 2 == 0)) {
            // Orders are those of many ranks, so a later one may be smaller.
            const std::uint64_t order = (std::uint64_t{random() % 64} << 44) + step + 1;
            const ticks delay = falls ? steps - step : static_cast<ticks>(random()) % spread;
            const due_time due{now + delay, order};
            queue.push({due, nullptr});
            expected.insert(due);
        }
        if (!expected.empty() && random() % 8 < taken_of_8) {
            RC_ASSERT(queue.top().due == *expected.begin());
            RC_ASSERT(queue.in_sight() >= std::min<std::size_t>(expected.size(), 16));
            auto behind = expected.begin();
            for (std::size_t place = 0; place < queue.in_sight(); ++place, ++behind) {
                RC_ASSERT(queue.ahead(place).due == *behind);
            }
            now = queue.pop().due.at;
            expected.erase(expected.begin());
        }
        RC_ASSERT(queue.empty() == expected.empty());
    }
}

}  // namespace
}  // namespace selion::machine::sim
