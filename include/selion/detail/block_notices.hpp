// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <selion/collective_choice.hpp>
#include <selion/detail/block_call.hpp>
#include <selion/detail/export.hpp>

namespace selion::detail {

/// What the members of a team tell each other before blocks move that differ in length: how many
/// elements each has, how many the longest of any member, and, in a team that is not large, the
/// block itself if it is short. Where all blocks are, nothing else has to move.
class block_notices {
public:
    /// In larger teams a member would pass on more of others' blocks than it has itself.
    static constexpr std::uint32_t most_members = 64;
    static constexpr std::size_t short_bytes = 48;

    /// @param members of the team. @param given by the own one: a notice, or one for each member.
    SELION_API block_notices(std::uint32_t members, std::uint32_t given, std::size_t element_bytes);

    /// @param which of those given. @param block of `count` elements. @param longest of all that
    /// are given.
    SELION_API void give(std::uint32_t which, const void* block, std::size_t count,
                         std::size_t longest);
    /// The collective that moves the notices; this object stays until it is over.
    /// @param type_hash of the elements.
    SELION_API block_call moving(collective_kind what, std::size_t type_hash);

    // When they have come:
    /// The elements before each member's block, and before the end.
    SELION_API std::vector<std::size_t> starts() const;
    /// Elements of the longest block of any member.
    SELION_API std::size_t most() const;
    /// Whether all blocks of all members have come with them.
    bool have_blocks() const { return most() * element_bytes_ <= room_; }
    /// @param to elements of all members, one behind the other.
    SELION_API void copy_blocks(void* to) const;

private:
    struct lengths;
    lengths lengths_of(std::uint32_t member) const;

    std::size_t element_bytes_;
    std::size_t room_;  ///< for a block, in each notice
    std::size_t step_;  ///< from one notice to the next
    std::uint32_t members_;
    std::vector<std::byte> given_;
    std::vector<std::byte> come_;  ///< from each member
};

}  // namespace selion::detail
