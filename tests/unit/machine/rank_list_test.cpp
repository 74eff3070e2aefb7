// SPDX-License-Identifier: Apache-2.0
#include "machine/rank_list.hpp"

#include <gtest/gtest.h>

namespace selion::machine {
namespace {

TEST(rank_list, names_runs_by_their_ends) {
    EXPECT_EQ(rank_list({}), "");
    EXPECT_EQ(rank_list({5}), "5");
    EXPECT_EQ(rank_list({0, 1}), "0-1");
    EXPECT_EQ(rank_list({0, 1, 2, 3, 7}), "0-3, 7");
    EXPECT_EQ(rank_list({1, 3, 5, 6, 9, 10, 11}), "1, 3, 5-6, 9-11");
}

TEST(ranks_text, says_whether_there_are_several) {
    EXPECT_EQ(ranks_text({5}), "rank 5");
    EXPECT_EQ(ranks_text({0, 1, 4}), "ranks 0-1, 4");
}

}  // namespace
}  // namespace selion::machine
