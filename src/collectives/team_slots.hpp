// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/call_shape.hpp"
#include "collectives/ordered_combination.hpp"
#include "collectives/team_meeting.hpp"
#include "collectives/team_members.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// Collectives of members that map each other: everybody publishes a part of its blocks in its
/// slot, all meet, and everybody takes what it needs from the others' slots. One meeting for each
/// part; the slots of two meetings take turns, so nobody writes what may still be read.
class team_slots {
public:
    team_slots(detail::rank_context& context, const team_members& members, team_meeting& meeting)
        : context_(context),
          members_(members),
          meeting_(meeting),
          own_(members.block(members.own())) {}

    /// @param most_part at most so many bytes of a block at a time; 0: as many as there is room.
    void run(const detail::block_call& call, std::size_t most_part = 0);

    /// What every member gives, by members.
    template <class T>
    std::vector<T> all_gather(const T& own) {
        std::vector<T> all(members_.count());
        run(detail::moving(collective_kind::all_gather, &own, all.data(), 1, 0));
        return all;
    }

private:
    /// The same bytes of every block.
    struct block_part {
        std::size_t start;
        std::size_t bytes;
    };
    void publish(const detail::block_call& call, block_part part);
    void fetch(const detail::block_call& call, block_part part);
    void fetch_words(std::size_t slot_start, std::byte* to, const std::byte* own);
    void fetch_broadcast(const detail::block_call& call, block_part part);
    void fetch_scattered(const detail::block_call& call, block_part part);
    void fetch_block(std::uint32_t from, std::size_t slot_start, std::span<std::byte> to,
                     const std::byte* own);
    void fetch_combined(const detail::block_call& call, block_part part);
    void combine_slots(const detail::block_call& call, std::byte* to, std::size_t start,
                       std::size_t count);
    void combine_shares(const detail::block_call& call, std::byte* data, std::size_t count);
    void all_reduce_by_groups(const detail::block_call& call);
    void all_reduce_alone(const detail::block_call& call);
    void all_reduce_by_last(const detail::block_call& call);
    std::size_t part_bytes(const detail::block_call& call, std::size_t most_part) const;
    static std::size_t part_of(std::size_t block_bytes, block_part part);
    std::byte* own_slot();
    void write_slot(std::size_t start, std::span<const std::byte> data);
    void read_slot(std::uint32_t member, std::size_t start, std::span<std::byte> data);
    const std::byte* slot_of(std::uint32_t member) const;

    detail::rank_context& context_;
    const team_members& members_;
    team_meeting& meeting_;
    team_block& own_;
    ordered_combination combination_;
    std::uint64_t turn_ = 0;  ///< meetings for slots so far
};

}  // namespace selion::collectives
