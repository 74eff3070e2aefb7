// SPDX-License-Identifier: Apache-2.0
#include "machine/host/spare_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace selion::machine {
namespace {

constexpr std::size_t kib = 1024;

TEST(spare_memory, hands_out_what_came_back_last) {
    spare_memory all;
    std::byte* const first = all.take(100 * kib);
    std::byte* const second = all.take(128 * kib);
    ASSERT_NE(first, second);
    all.give_back(first, 100 * kib);
    all.give_back(second, 128 * kib);
    EXPECT_EQ(all.kept_bytes(), 256 * kib);
    EXPECT_EQ(all.take(65 * kib), second);
    EXPECT_EQ(all.take(128 * kib), first);
    EXPECT_EQ(all.kept_bytes(), 0u);
    all.give_back(first, 128 * kib);
    all.give_back(second, 65 * kib);
}

TEST(spare_memory, has_room_for_all_that_was_asked_for) {
    spare_memory all;
    for (const std::size_t bytes : {1ul, 4 * kib - 1, 4 * kib, 4 * kib + 1, 3000 * kib,
                                    16 * 1024 * kib, 16 * 1024 * kib + 1}) {
        std::byte* const piece = all.take(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % spare_memory::alignment, 0u);
        std::memset(piece, 1, spare_memory::rounded(bytes));
        all.give_back(piece, bytes);
    }
}

TEST(spare_memory, keeps_neither_small_pieces_nor_too_much) {
    spare_memory all;
    all.give_back(all.take(4 * kib - 1), 4 * kib - 1);
    EXPECT_EQ(all.kept_bytes(), 0u);
    std::vector<std::byte*> pieces;
    for (int i = 0; i < 5; ++i) pieces.push_back(all.take(4096 * kib));
    for (std::byte* const piece : pieces) all.give_back(piece, 4096 * kib);
    EXPECT_EQ(all.kept_bytes(), 4 * 4096 * kib);
    std::byte* const other = all.take(64 * kib);
    all.give_back(other, 64 * kib);  // those of another size make room
    EXPECT_EQ(all.kept_bytes(), 3 * 4096 * kib + 64 * kib);
    EXPECT_EQ(all.take(64 * kib), other);
    all.give_back(other, 64 * kib);
}

TEST(spare_memory, asks_for_no_more_than_is_wanted_where_nothing_is_kept) {
    EXPECT_EQ(spare_memory::rounded(17 * 1024 * kib), 17 * 1024 * kib);
    EXPECT_EQ(spare_memory::rounded(16 * 1024 * kib), 16 * 1024 * kib);
    EXPECT_EQ(spare_memory::rounded(9 * 1024 * kib), 16 * 1024 * kib);
    EXPECT_EQ(spare_memory::rounded(4 * kib - 1), 4 * kib - 1);
}

TEST(spare_memory, may_come_back_on_another_thread_or_after_all) {
    std::byte* piece = nullptr;
    std::thread([&] { piece = take_memory(100 * kib); }).join();
    give_back_memory(piece, 100 * kib);
    EXPECT_EQ(take_memory(128 * kib), piece);
    give_back_memory(piece, 128 * kib);
}

}  // namespace
}  // namespace selion::machine
