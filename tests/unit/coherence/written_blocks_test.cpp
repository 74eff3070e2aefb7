// SPDX-License-Identifier: Apache-2.0
#include "coherence/written_blocks.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <random>
#include <vector>

namespace selion::coherence {
namespace {

constexpr std::uint64_t here = 0x4000;  // address of the block

using bytes = std::vector<std::byte>;

/// Some bytes change, alone or many in a row, a few of them to what they are.
void scribble(bytes& block, std::mt19937& random) {
    for (auto i = random() % 6; i != 0; --i) {
        const std::size_t first = random() % block.size();
        const std::size_t end = std::min(block.size(), first + 1 + random() % 20);
        for (std::size_t at = first; at < end; ++at) {
            if (random() % 4 != 0) block[at] = static_cast<std::byte>(random());
        }
    }
}

class WrittenBlocks : public testing::TestWithParam<std::size_t> {
protected:
    std::mt19937 random{7};
    bytes any_block() {
        bytes block(GetParam());
        for (std::byte& one : block) one = static_cast<std::byte>(random());
        return block;
    }
};

TEST_P(WrittenBlocks, ChangesMakeACopyWhatTheBlockIs) {
    for (int round = 0; round < 200; ++round) {
        bytes block = any_block();
        bytes copy = block;
        written_blocks mine(GetParam());
        mine.open(here, block.data());
        EXPECT_TRUE(mine.is_open(here));
        scribble(block, random);
        const bytes changes = mine.close(here, block.data(), 1);
        EXPECT_FALSE(mine.is_open(here));
        EXPECT_EQ(changes.empty(), block == copy);
        // What is sent is little more than what has changed.
        EXPECT_LE(changes.size(), GetParam() * 2);
        written_blocks(GetParam()).merge(here, copy.data(), changes);
        EXPECT_EQ(copy, block);
    }
}

/// Two ranks write different bytes of a block; each gets the other's changes, before it has sent
/// its own ones or after, and the home gets both.
TEST_P(WrittenBlocks, ChangesOfDifferentBytesMeet) {
    for (int round = 0; round < 400; ++round) {
        const bytes before = any_block();
        bytes home = before;
        bytes left = before;
        bytes right = before;
        bytes both = before;
        written_blocks of_left(GetParam());
        written_blocks of_right(GetParam());
        of_left.open(here, left.data());
        of_right.open(here, right.data());
        for (std::size_t at = 0; at < both.size(); ++at) {
            if (random() % 3 == 0) continue;
            both[at] = static_cast<std::byte>(random());
            (random() % 2 == 0 ? left : right)[at] = both[at];
        }
        const bytes from_left = of_left.close(here, left.data(), 1);
        const bool is_early = random() % 2 == 0;
        if (is_early) of_right.merge(here, right.data(), from_left);
        const bytes from_right = of_right.close(here, right.data(), 1);
        if (!is_early) of_right.merge(here, right.data(), from_left);
        of_left.merge(here, left.data(), from_right);
        written_blocks of_home(GetParam());
        of_home.merge(here, home.data(), from_left);
        of_home.merge(here, home.data(), from_right);
        EXPECT_EQ(home, both);
        EXPECT_EQ(left, both);
        EXPECT_EQ(right, both);
    }
}

/// Of changes of the same bytes, those stay which the home takes later: the rank's own.
TEST_P(WrittenBlocks, OwnChangesStay) {
    const bytes before(GetParam(), std::byte{1});
    const bytes theirs(GetParam(), std::byte{2});
    bytes mine = before;
    written_blocks of_theirs(GetParam());
    of_theirs.open(here, before.data());
    const bytes update = of_theirs.close(here, theirs.data(), 1);
    written_blocks of_mine(GetParam());
    of_mine.open(here, mine.data());
    mine[3] = std::byte{9};
    of_mine.merge(here, mine.data(), update);
    bytes expected = theirs;
    expected[3] = std::byte{9};
    EXPECT_EQ(mine, expected);
    const bytes changes = of_mine.close(here, mine.data(), 1);
    bytes home = theirs;
    written_blocks(GetParam()).merge(here, home.data(), changes);
    EXPECT_EQ(home, expected);
    of_mine.merge(here, mine.data(), update);  // its own are under way
    EXPECT_EQ(mine, expected);
    of_mine.forget(here, 1);
    of_mine.merge(here, mine.data(), update);
    EXPECT_EQ(mine, theirs);
}

/// A block that is written again before its changes have been taken, and sent again.
TEST_P(WrittenBlocks, ABlockIsOpenedAgainWhileItIsUnderWay) {
    bytes block(GetParam(), std::byte{1});
    const bytes theirs(GetParam(), std::byte{7});
    written_blocks of_theirs(GetParam());
    of_theirs.open(here, block.data());
    const bytes update = of_theirs.close(here, theirs.data(), 1);
    written_blocks mine(GetParam());
    mine.open(here, block.data());
    block[0] = std::byte{2};
    EXPECT_FALSE(mine.close(here, block.data(), 1).empty());
    EXPECT_EQ(mine.all_open(), std::vector<std::uint64_t>{});
    mine.open(here, block.data());
    block[5] = std::byte{3};
    const bytes second = mine.close(here, block.data(), 2);
    bytes expected = theirs;
    expected[0] = std::byte{2};
    expected[5] = std::byte{3};
    mine.merge(here, block.data(), update);  // earlier than both in the home's order
    EXPECT_EQ(block, expected);
    mine.open(here, block.data());
    mine.forget(here, 1);
    EXPECT_EQ(mine.all_open(), std::vector<std::uint64_t>{here});
    mine.forget(here, 2);
    mine.merge(here, block.data(), update);
    EXPECT_EQ(block, theirs);
    bytes home(GetParam(), std::byte{1});
    written_blocks(GetParam()).merge(here, home.data(), second);
    EXPECT_EQ(home[5], std::byte{3});
    EXPECT_EQ(home[0], std::byte{1});
}

INSTANTIATE_TEST_SUITE_P(Sizes, WrittenBlocks, testing::Values(8, 16, 64, 1024, 65536));

}  // namespace
}  // namespace selion::coherence
