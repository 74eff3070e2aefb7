// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "collectives/aligned_bytes.hpp"
#include "collectives/call_shape.hpp"
#include "collectives/data_lender.hpp"
#include "collectives/ordered_combination.hpp"
#include "collectives/team_meeting.hpp"
#include "collectives/team_members.hpp"
#include "collectives/team_slots.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/reduction.hpp"

namespace selion::collectives {

/// Collectives of long blocks where members map each other: everybody reads and combines what it
/// needs where it lies, and all meet before anybody may change its data. See direct.md.
class team_direct {
public:
    team_direct(detail::rank_context& context, const team_members& members, team_meeting& meeting,
                team_slots& slots)
        : context_(context),
          members_(members),
          meeting_(meeting),
          slots_(slots),
          lender_(context, members) {}

    void run(const detail::block_call& call);
    /// Whether a collective of such blocks really goes this way, as far as this member knows: else
    /// it goes through the slots. What only all members can find out together counts from the first
    /// such collective on.
    bool can_go(collective_kind what, std::size_t bytes) const;

private:
    bool can_lend();
    bool can_read();
    void broadcast(const detail::block_call& call);
    void all_reduce(const detail::block_call& call);
    void reduce(const detail::block_call& call);
    void reduce_scatter(const detail::block_call& call);
    /// A part of what everybody has offered.
    struct seen_part {
        std::size_t start;
        std::size_t bytes;
    };
    void combine_seen(std::byte* to, seen_part part, const detail::reduction& how);
    void gather(const detail::block_call& call);
    void exchange(const detail::block_call& call);
    void broadcast_by_both(std::span<std::byte> part, std::uint32_t root);
    /// A part of what a member has lent.
    struct lent_part {
        std::size_t start;
        std::size_t staged_before;  ///< what it stages earlier
        std::size_t bytes;
    };
    void copy_lent(std::byte* to, std::uint32_t from, lent_part part);
    void reduce_round(std::byte* data, std::size_t count, const detail::reduction& how);
    void combine_lent(std::byte* data, const vector_shares& all, const detail::reduction& how,
                      bool gives_results);
    void give_to_all(std::span<const std::byte> result, std::size_t start);

    detail::rank_context& context_;
    const team_members& members_;
    team_meeting& meeting_;
    team_slots& slots_;
    data_lender lender_;
    std::optional<bool> can_lend_;
    std::optional<bool> can_read_;
    ordered_combination combination_;
    aligned_bytes strip_;
    aligned_bytes copy_;      ///< of what is given, in a collective in place
    std::size_t copied_ = 0;  ///< bytes of it, by the last collective of blocks
};

}  // namespace selion::collectives
