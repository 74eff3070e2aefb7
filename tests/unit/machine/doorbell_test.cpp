// SPDX-License-Identifier: Apache-2.0
#include "machine/node/doorbell.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "machine/node/bell_layout.hpp"
#include "selion/detail/word_access.hpp"
#include "unit/machine/mapping_parts.hpp"

namespace selion::machine::node {
namespace {

TEST(bell_layout, bells_of_a_rank_leave_out_threads_that_have_not_joined) {
    const bell_layout bells{
        .shape = {.processes = 2, .ranks_per_process = 2, .carriers_per_process = 2},
        .joined_threads = 8,
        .has_notifiers = true};
    std::vector<std::uint32_t> seen;
    bells.each_of(3, 2, [&](std::uint32_t bell) { seen.push_back(bell); });
    // Its carrier's, the one beside it, and the first two of its process's eight.
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{3, 4 + 2 * 8 + 2 + 3, 4 + 8, 4 + 8 + 1}));
}

TEST(doorbell, who_waits_for_mail_alone_is_no_sleeper_for_signals) {
    const shared_mapping mapping = small_mapping(1, 2);
    detail::rank_context context;
    context.sleepers = &mapping.control().sleepers;
    const listener_access listener(mapping.control(), false, no_deadline);
    listener.change_sleepers(1);
    EXPECT_FALSE(detail::sees_sleepers(context));
    EXPECT_TRUE(detail::sees_listeners(context));
    const host_access sleeper(mapping.control(), false, no_deadline);
    sleeper.change_sleepers(1);
    EXPECT_TRUE(detail::sees_sleepers(context));
    sleeper.change_sleepers(-1);
    EXPECT_FALSE(detail::sees_sleepers(context));
    listener.change_sleepers(-1);
    EXPECT_FALSE(detail::sees_listeners(context));
}

}  // namespace
}  // namespace selion::machine::node
