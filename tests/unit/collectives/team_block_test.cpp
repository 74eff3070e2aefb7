// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_block.hpp"

#include <gtest/gtest.h>

#include <set>

namespace selion::collectives {
namespace {

TEST(team_block, words_that_different_ranks_write_have_lines_of_their_own) {
    static_assert(sizeof(lonely_word) == detail::line_bytes);
    static_assert(offsetof(team_block, arrivals) % detail::line_bytes == 0);
    static_assert(offsetof(team_block, group_release) % detail::line_bytes == 0);
    static_assert(offsetof(team_block, rounds) % detail::line_bytes == 0);
    static_assert(offsetof(team_block, calls) % detail::line_bytes == 0);
    static_assert(offsetof(team_block, links) % detail::line_bytes == 0);
    static_assert(sizeof(link_end) % detail::line_bytes == 0);
    static_assert(offsetof(team_block, slots) % detail::line_bytes == 0);
    static_assert(sizeof(team_block{}.rounds) / sizeof(lonely_word) >= detail::rank_bits);
    static_assert(sizeof(team_block{}.links) / sizeof(link_end) >=
                  detail::rank_bits * link_directions);
    SUCCEED();
}

TEST(team_block, small_messages_touch_few_pages) {
    // Three of four ranks have children at level 0 at most, and their parent at level 0 or 1.
    constexpr std::size_t first = offsetof(team_block, rounds);
    constexpr std::size_t last =
        offsetof(team_block, links) + 2 * link_directions * sizeof(link_end);
    EXPECT_LE(last - first, 4096u + 128u);
    // And no page of theirs is a parcel's, wherever the block starts.
    EXPECT_GE(offsetof(team_block, slots) - last, 4096u);
}

TEST(team_block, lies_within_the_bytes_that_are_kept_for_it) {
    std::set<std::uint64_t> places;
    for (std::uint32_t rank = 0; rank < 1000; ++rank) {
        EXPECT_EQ(block_offset(rank) % detail::line_bytes, 0u);
        EXPECT_LE(block_offset(rank) + sizeof(team_block), runtime_bytes);
        places.insert(block_offset(rank) % 4096);
    }
    EXPECT_EQ(places.size(), 4096 / detail::line_bytes);  // spread over all sets of a cache
}

TEST(call_signature, agrees_in_all_but_the_place) {
    const call_signature call{1, modes_of(sync_mode::mine, sync_mode::all), 0, 100, 8, 4, 77, 2};
    EXPECT_TRUE(call.agrees_with(call));
    const auto expect_counts = [&]<class Field>(Field call_signature::*field) {
        call_signature other = call;
        ++(other.*field);
        EXPECT_FALSE(call.agrees_with(other));
    };
    expect_counts(&call_signature::what);
    expect_counts(&call_signature::modes);
    expect_counts(&call_signature::count);
    expect_counts(&call_signature::element_bytes);
    expect_counts(&call_signature::type_hash);
    expect_counts(&call_signature::root);
    call_signature elsewhere = call;
    ++elsewhere.site;
    ++elsewhere.whole;
    EXPECT_TRUE(call.agrees_with(elsewhere));
    call_signature of_any_type = call;
    of_any_type.type_hash = 0;
    EXPECT_TRUE(call.agrees_with(of_any_type));
    EXPECT_TRUE(of_any_type.agrees_with(call));
}

}  // namespace
}  // namespace selion::collectives
