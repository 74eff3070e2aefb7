// SPDX-License-Identifier: Apache-2.0
#include "selion/rank.hpp"

#include <gtest/gtest.h>

namespace selion {
namespace {

template <class Rank>
constexpr bool counts_like_an_integer() {
    Rank rank = 3;
    const bool post = rank++ == 3u && rank == 4u;
    const bool pre = ++rank == 5u;
    rank += 2;
    rank += Rank(1);
    return post && pre && rank == 8u;
}

TEST(ranks, count_like_integers) {
    static_assert(counts_like_an_integer<rank_id>());
    static_assert(counts_like_an_integer<team_rank>());
}

}  // namespace
}  // namespace selion
