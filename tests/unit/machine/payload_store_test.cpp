// SPDX-License-Identifier: Apache-2.0
#include "machine/node/payload_store.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace selion::machine::node {
namespace {

/// A pool of 16 units; a piece takes one for its header, and those of its bytes.
class payload_store_test : public testing::Test {
protected:
    static constexpr std::uint64_t unit = sizeof(payload_header);
    static constexpr std::uint64_t units = 16;

    payload_store_test() : store_(pool_, bytes_.data(), bytes_.size()) {
        context_.sleepers = &sleepers_;
    }
    /// A piece of so many units in all. Writes all that it may hold.
    std::byte* take(std::uint64_t count, std::uint32_t target = 0) {
        const std::uint64_t bytes = (count - 1) * unit;
        std::byte* const piece = store_.take(bytes, target);
        if (piece != nullptr) std::memset(piece, 0xff, bytes);
        return piece;
    }
    void give_back(const std::byte* piece) { give_back_payload(context_, pool_, piece); }
    /// In units from the pool's start; the header is before it.
    std::uint64_t place_of(const std::byte* piece) const {
        return static_cast<std::uint64_t>(piece - bytes_.data()) / unit;
    }

    detail::rank_context context_;
    std::uint64_t sleepers_ = 0;
    payload_pool pool_{};
    alignas(payload_header) std::array<std::byte, units * unit> bytes_{};
    payload_store store_;
};

TEST_F(payload_store_test, pieces_lie_one_behind_the_other) {
    EXPECT_EQ(place_of(take(3)), 1u);
    EXPECT_EQ(place_of(take(2)), 4u);
    EXPECT_EQ(place_of(store_.take(1, 0)), 6u);  // of whole units
    EXPECT_EQ(place_of(store_.take(unit + 1, 0)), 8u);
    EXPECT_EQ(place_of(take(6)), 11u);
    EXPECT_EQ(take(1), nullptr);
}

TEST_F(payload_store_test, the_longest_piece_fills_it) {
    EXPECT_EQ(store_.take(store_.most_bytes() + 1, 0), nullptr);
    std::byte* const all = store_.take(store_.most_bytes(), 0);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(take(1), nullptr);
    give_back(all);
    EXPECT_NE(store_.take(store_.most_bytes(), 0), nullptr);
}

TEST_F(payload_store_test, goes_on_behind_the_oldest_that_is_read) {
    std::byte* const first = take(5);
    std::byte* const second = take(5);
    std::byte* const third = take(6);
    give_back(second);
    EXPECT_EQ(take(5), nullptr);  // the one before it is being read
    give_back(first);
    EXPECT_EQ(place_of(take(7)), 1u);
    EXPECT_EQ(take(4), nullptr);
    EXPECT_EQ(place_of(take(3)), 8u);
    give_back(third);
    EXPECT_EQ(detail::word_load(store_.freed()), 3u);
}

/// A piece that does not fit before the end begins at the start, and what is left over there is
/// free with the piece before it. Something is always in use, so the pool never begins anew.
TEST_F(payload_store_test, the_end_that_is_left_over_is_free_again) {
    std::byte* older = take(7);
    for (int round = 0; round < 100; ++round) {
        std::byte* const newer = take(7);
        ASSERT_NE(newer, nullptr) << "round " << round;
        EXPECT_EQ(take(7), nullptr);
        give_back(older);
        older = newer;
    }
}

TEST_F(payload_store_test, what_the_dead_were_to_read_is_free) {
    std::byte* const first = take(4, 1);
    take(4, 2);
    take(4, 1);
    give_back(first);
    EXPECT_EQ(take(5, 3), nullptr);
    store_.give_up(context_, 2);
    EXPECT_EQ(detail::word_load(store_.freed()), 2u);  // who waits for room looks again
    EXPECT_NE(take(5, 3), nullptr);
}

}  // namespace
}  // namespace selion::machine::node
