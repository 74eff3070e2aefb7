// SPDX-License-Identifier: Apache-2.0
#include "selion/detail/block_notices.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace selion::detail {
namespace {

using testing::ElementsAre;

/// The notices of all members, which exchange them. Elements are characters.
class exchanged_notices {
public:
    /// @param blocks that each member has for each.
    explicit exchanged_notices(const std::vector<std::vector<std::string>>& blocks) {
        const auto members = static_cast<std::uint32_t>(blocks.size());
        for (const auto& given : blocks) {
            std::size_t longest = 0;
            for (const std::string& one : given) longest = std::max(longest, one.size());
            block_notices& own = all_.emplace_back(members, members, 1);
            for (std::uint32_t to = 0; to < members; ++to) {
                own.give(to, given[to].data(), given[to].size(), longest);
            }
        }
        for (std::uint32_t from = 0; from < members; ++from) {
            for (std::uint32_t to = 0; to < members; ++to) {
                const block_call sent = all_[from].moving(collective_kind::exchange, 0);
                const block_call got = all_[to].moving(collective_kind::exchange, 0);
                std::memcpy(got.target + got.target_start(from),
                            sent.source + sent.source_start(to), sent.block_bytes());
            }
        }
    }

    const block_notices& of(std::uint32_t member) const { return all_[member]; }
    std::string blocks_of(std::uint32_t member) const {
        std::string all(all_[member].starts().back(), ' ');
        all_[member].copy_blocks(all.data());
        return all;
    }

private:
    std::deque<block_notices> all_;
};

TEST(block_notices, short_blocks_come_with_their_lengths) {
    const std::string most(block_notices::short_bytes, 'm');
    const exchanged_notices all({{"own", "", most}, {"b", "bb", ""}, {"", "cc", "c"}});
    EXPECT_THAT(all.of(0).starts(), ElementsAre(0, 3, 4, 4));
    EXPECT_THAT(all.of(1).starts(), ElementsAre(0, 0, 2, 4));
    for (const std::uint32_t member : {0, 1, 2}) {
        EXPECT_EQ(all.of(member).most(), most.size());
        EXPECT_TRUE(all.of(member).have_blocks());
    }
    EXPECT_EQ(all.blocks_of(0), "ownb");
    EXPECT_EQ(all.blocks_of(1), "bbcc");
    EXPECT_EQ(all.blocks_of(2), most + "c");
}

TEST(block_notices, one_long_block_is_known_to_all) {
    const std::string longer(block_notices::short_bytes + 1, 'l');
    const exchanged_notices all({{"a", longer}, {"b", "b"}});
    for (const std::uint32_t member : {0, 1}) {
        EXPECT_EQ(all.of(member).most(), longer.size());
        EXPECT_FALSE(all.of(member).have_blocks());
    }
    EXPECT_THAT(all.of(0).starts(), ElementsAre(0, 1, 2));
    EXPECT_THAT(all.of(1).starts(), ElementsAre(0, longer.size(), longer.size() + 1));
}

TEST(block_notices, lengths_are_bytes_of_elements) {
    block_notices own(1, 1, sizeof(std::uint64_t));
    const std::vector<std::uint64_t> seven(7, 7);
    own.give(0, seven.data(), seven.size(), seven.size());
    const block_call call = own.moving(collective_kind::all_gather, 0);
    std::memcpy(call.target, call.source, call.block_bytes());
    EXPECT_EQ(own.most(), 7u);
    EXPECT_FALSE(own.have_blocks()) << "56 bytes";
}

TEST(block_notices, large_teams_tell_lengths_alone) {
    const std::uint32_t members = block_notices::most_members + 1;
    block_notices own(members, 1, 1);
    own.give(0, "abc", 3, 3);
    const block_call call = own.moving(collective_kind::all_gather, 0);
    EXPECT_EQ(call.block_bytes(), 2 * sizeof(std::size_t));
    for (std::uint32_t from = 0; from < members; ++from) {
        std::memcpy(call.target + call.target_start(from), call.source, call.block_bytes());
    }
    EXPECT_EQ(own.starts().back(), 3 * members);
    EXPECT_FALSE(own.have_blocks());
}

TEST(block_notices, nothing_at_all_needs_nothing_more) {
    const std::uint32_t members = block_notices::most_members + 1;
    block_notices own(members, 1, 8);
    own.give(0, nullptr, 0, 0);
    EXPECT_EQ(own.most(), 0u);
    EXPECT_TRUE(own.have_blocks());
    own.copy_blocks(nullptr);
}

}  // namespace
}  // namespace selion::detail
