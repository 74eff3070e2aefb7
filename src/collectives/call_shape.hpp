// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collectives/team_members.hpp"
#include "selion/detail/block_call.hpp"

/// Who gives what in a collective, who gets what, and how a vector is shared out.
namespace selion::collectives {

/// Whether the root alone gives blocks.
constexpr bool only_root_gives(collective_kind what) {
    return what == collective_kind::broadcast || what == collective_kind::scatter;
}

/// Whether a member gives a block for each member, and not one alone.
constexpr bool gives_all(collective_kind what) {
    return what == collective_kind::exchange || what == collective_kind::reduce_scatter ||
           what == collective_kind::scatter;
}

/// Whether a schedule cuts one vector into its blocks; else each block is a member's.
constexpr bool cuts_vector(collective_kind what) {
    return what == collective_kind::broadcast || what == collective_kind::reduce ||
           what == collective_kind::all_reduce || what == collective_kind::scan ||
           what == collective_kind::exscan;
}

constexpr bool is_prefix(collective_kind what) {
    return what == collective_kind::scan || what == collective_kind::exscan;
}

inline bool gets_result(const team_members& members, const detail::block_call& call) {
    using enum collective_kind;
    if (call.what == reduce || call.what == gather) return members.own() == call.root;
    return call.what != exscan || members.own() != 0;
}

/// Members whose values the own member combines.
inline std::uint32_t members_combined(const team_members& members, const detail::block_call& call) {
    if (call.what == collective_kind::scan) return members.own() + 1;
    return call.what == collective_kind::exscan ? members.own() : members.count();
}

/// What member 0 gets of an exscan: before its exit meeting, for then it is everybody's again.
/// @pre no other member still reads what it has given.
inline void fill_first(const team_members& members, const detail::block_call& call) {
    const std::size_t bytes = call.block_bytes();
    if (call.first == nullptr || members.own() != 0 || bytes == 0) return;
    std::memcpy(call.target, call.first, call.element_bytes);
    for (std::size_t done = call.element_bytes; done < bytes; done += std::min(done, bytes - done))
        std::memcpy(call.target + done, call.target, std::min(done, bytes - done));
}

/// Bytes that a member shows others where all go through shared memory at once: of one block, or
/// of a block for each member.
inline std::size_t shown_bytes(const team_members& members, const detail::block_call& call) {
    return call.most_bytes() * (gives_all(call.what) ? members.count() : 1);
}

/// A vector of which each member works on a share. Shares differ by one element at most.
struct vector_shares {
    std::size_t count;  ///< elements
    std::size_t element_bytes;
    std::uint32_t members;

    std::size_t start_of(std::uint64_t share) const {
        return count * share / members * element_bytes;
    }
    std::size_t bytes_of(std::uint32_t share) const {
        return start_of(share + 1) - start_of(share);
    }
};

}  // namespace selion::collectives
