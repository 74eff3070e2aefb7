// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/node_map.hpp"
#include "collectives/team_block.hpp"
#include "onesided/deaths.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// Who belongs to a team and where their blocks lie, as one member sees it. Members are numbered
/// from 0.
class team_members final : public onesided::needed_ranks {
public:
    /// The team of all: every rank's block lies where `block_offset` says.
    explicit team_members(const detail::rank_context& context);

    /// One member, as all the others must know it.
    struct entry {
        std::uint64_t block;         ///< global address of its block
        std::uint32_t first_beside;  ///< world rank of the first rank that shares its carrier
        std::uint32_t made;          ///< teams that it has made, this one included
    };
    /// @param entries of all members, in their order. @param own number of this one.
    team_members(const detail::rank_context& context, const std::vector<entry>& entries,
                 std::uint32_t own);

    const detail::rank_context& context() const { return context_; }
    std::uint32_t own() const { return own_; }
    std::uint32_t count() const { return count_; }
    std::uint32_t world_rank(std::uint32_t member) const {
        return blocks_.empty() ? member : detail::rank_of(blocks_[member]);
    }
    /// Global address of a place in a member's block.
    std::uint64_t address(std::uint32_t member, std::size_t offset) const {
        return (blocks_.empty() ? everybodys_block(member) : blocks_[member]) + offset;
    }
    /// @pre `are_mapped()`, or the member is this one.
    team_block& block(std::uint32_t member) const {
        return *reinterpret_cast<team_block*>(detail::mapped_address(context_, address(member, 0)));
    }
    std::optional<std::uint32_t> first_dead(const machine::death_list& deaths) const override;
    bool have_left(const machine::death_list& deaths) const override;
    /// A name that no other team of the job ever has: 0 for the team of all.
    std::uint64_t name() const { return name_; }

    bool are_mapped() const { return are_mapped_; }  ///< all share words with this one
    /// Members that share words with this one, itself among them, by rising number: the same for
    /// all of them.
    std::vector<std::uint32_t> mapped() const;
    /// Members by node, where not all share words and those of each node are neighbours in number;
    /// else of no nodes. The same at all members.
    const node_map& nodes() const { return nodes_; }
    /// Looks for them again: all ranks have told where they are.
    void find_nodes();
    /// Whether some of several nodes have several members.
    bool has_levels() const { return has_levels_; }
    /// Members that share this one's carrier: the first of them, how many, and how many carriers
    /// all members have.
    std::uint32_t group_first() const { return group_first_; }
    std::uint32_t group_size() const { return group_size_; }
    std::uint32_t groups() const { return groups_; }
    /// Whether there are fewer processors than threads that run ranks: the same at all members.
    bool share_processors() const { return context_.brief_yields != 0; }

private:
    static std::uint64_t everybodys_block(std::uint32_t rank) { return block_address(rank, 0); }
    bool maps(std::uint32_t member) const;
    void find_groups(const std::vector<entry>& entries);

    const detail::rank_context& context_;
    std::vector<std::uint64_t> blocks_;  ///< of every member; empty for the team of all
    std::uint64_t name_ = 0;
    std::uint32_t own_;
    std::uint32_t count_;
    std::uint32_t group_first_;
    std::uint32_t group_size_;
    std::uint32_t groups_;
    bool are_mapped_;
    node_map nodes_;
    bool has_levels_ = false;
};

}  // namespace selion::collectives
