// SPDX-License-Identifier: Apache-2.0
/// Collectives of long blocks where members map each other: everybody reads and combines what it
/// needs where it lies, and all meet before anybody may change its data. See direct.md.
#include <algorithm>
#include <cstring>

#include "collectives/team_state.hpp"
#include "machine/machine.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Results that must not be written while their parts are read go through a place of this size.
constexpr std::size_t strip_bytes = 8 * 1024;
/// Staged data are read in parts of this size, as they come.
constexpr std::size_t read_bytes = 16 * 1024;
/// A vector is reduced in rounds of so much, so that what one member makes is still in its cache
/// when the others take it.
constexpr std::size_t round_bytes = 1024 * 1024;

}  // namespace

/// Whether all members live in one process; found out together, once.
bool team_state::shares_process() {
    if (has_one_process_) return *has_one_process_;
    std::uint32_t own = 0;
    if (context_.simulated == nullptr) {
        own = context_.host->launcher().place_of(context_, locality::process);
    }
    std::vector<std::uint32_t> all(members_.count());
    run_in_slots(detail::moving(all_gather, &own, all.data(), 1, 0));
    has_one_process_ = std::ranges::all_of(all, [&](std::uint32_t other) { return other == own; });
    return *has_one_process_;
}

void team_state::run_directly(const detail::block_call& call) {
    const bool is_shared = shares_process();
    if (call.what == all_reduce) return all_reduce_directly(call, is_shared);
    lender_.begin_turn();
    if (call.what == broadcast) {
        broadcast_directly(call, is_shared);
    } else {
        exchange_directly(call, is_shared);
    }
    synchronise(machine::wait_reason::collective);
    lender_.end_turn();
}

void team_state::broadcast_directly(const detail::block_call& call, bool is_shared) {
    const std::size_t bytes = call.block_bytes();
    if (members_.own() == call.root) {
        lender_.offer({call.target, bytes}, is_shared);
        lender_.stage(0, bytes);
        return;
    }
    copy_lent(call.target, call.root, {0, 0, bytes});
}

/// Copies a member's data as they become readable.
void team_state::copy_lent(std::byte* to, std::uint32_t from, lent_part part) {
    for (std::size_t done = 0; done < part.bytes; done += read_bytes) {
        const std::size_t now = std::min(part.bytes - done, read_bytes);
        const std::byte* const data = lender_.data_of(from, part.staged_before + done + now);
        lender_.read(data + part.start + done, now);
        std::memcpy(to + done, data + part.start + done, now);
    }
}

void team_state::all_reduce_directly(const detail::block_call& call, bool is_shared) {
    if (call.source != call.target) std::memcpy(call.target, call.source, call.block_bytes());
    combination_.prepare(members_.count(), call.element_bytes);
    const std::size_t most = std::max<std::size_t>(round_bytes / call.element_bytes, 1);
    std::byte* data = call.target;
    for (std::size_t left = call.count; left != 0;) {
        const std::size_t now = std::min(left, most);
        lender_.begin_turn();
        lender_.offer({data, now * call.element_bytes}, is_shared);
        reduce_round(data, now, *call.how);
        synchronise(machine::wait_reason::collective);
        lender_.end_turn();
        data += now * call.element_bytes;
        left -= now;
    }
}

/// The bytes of each member's share of a vector.
struct team_state::shares {
    std::size_t count;  ///< elements
    std::size_t element_bytes;
    std::uint32_t members;

    std::size_t start_of(std::uint64_t share) const {
        return count * share / members * element_bytes;
    }
    std::size_t bytes_of(std::uint32_t share) const {
        return start_of(share + 1) - start_of(share);
    }
    /// What a member has staged before it comes to a share: those of the next members go first.
    std::size_t staged_before(std::uint32_t member, std::uint32_t share) const {
        std::size_t staged = 0;
        for (std::uint32_t next = (member + 1) % members; next != share;
             next = (next + 1) % members) {
            staged += bytes_of(next);
        }
        return staged;
    }
};

/// Everybody combines its share of the elements of all, and then takes the other shares. A member
/// stages the share of the next member first, and its own when it is done.
void team_state::reduce_round(std::byte* data, std::size_t count, const detail::reduction& how) {
    const shares all{count, how.element_bytes, members_.count()};
    const std::uint32_t own = members_.own();
    const std::size_t bytes = count * how.element_bytes;
    for (std::uint32_t i = 1; i < all.members; ++i) {
        const std::uint32_t share = (own + i) % all.members;
        lender_.stage(all.start_of(share), all.bytes_of(share));
    }
    combine_lent(data, all, how);
    lender_.stage(all.start_of(own), all.bytes_of(own));
    synchronise(machine::wait_reason::collective);
    for (std::uint32_t i = 1; i < all.members; ++i) {
        const std::uint32_t share = (own + i) % all.members;
        const std::size_t start = all.start_of(share);
        copy_lent(data + start, share, {start, bytes - all.bytes_of(share), all.bytes_of(share)});
    }
}

/// Combines everybody's elements of the own share, strip by strip as they become readable.
void team_state::combine_lent(std::byte* data, const shares& all, const detail::reduction& how) {
    const std::uint32_t own = members_.own();
    const std::size_t start = all.start_of(own);
    const std::size_t bytes = all.bytes_of(own);
    const std::size_t strip =
        std::max<std::size_t>(strip_bytes / how.element_bytes, 1) * how.element_bytes;
    strip_.reserve(strip);
    for (std::size_t done = 0; done < bytes; done += strip) {
        const std::size_t now = std::min(bytes - done, strip);
        std::byte* const result = data + start + done;
        // Two values can be combined in place.
        std::byte* const to = all.members <= 2 ? result : strip_.data();
        combination_.combine(to, {now / how.element_bytes, all.members}, how,
                             [&](std::uint32_t member, std::size_t from, std::size_t part) {
                                 if (member == own)
                                     return static_cast<const std::byte*>(result + from);
                                 const std::size_t readable =
                                     all.staged_before(member, own) + done + now;
                                 const std::byte* const value =
                                     lender_.data_of(member, readable) + start + done + from;
                                 lender_.read(value, part);
                                 return value;
                             });
        if (to != result) std::memcpy(result, to, now);
    }
}

/// Gather, all-gather, scatter and exchange: blocks go from those who give them to those who get
/// them.
void team_state::exchange_directly(const detail::block_call& call, bool is_shared) {
    const std::uint32_t own = members_.own();
    const std::size_t block = call.block_bytes();
    const bool gives_for_all = gives_all(call.what);
    const std::size_t given = gives_for_all ? block * members_.count() : block;
    const std::byte* source = call.source;
    if (call.what == exchange && call.source == call.target) {
        copy_.reserve(given);
        std::memcpy(copy_.data(), call.source, given);
        source = copy_.data();
    }
    if (call.what != scatter || own == call.root) {
        // Nobody writes to what is offered.
        lender_.offer({const_cast<std::byte*>(source), given}, is_shared);
        lender_.stage(0, given);
    }
    if (!gets_result(call)) return;
    const std::size_t start = gives_for_all ? own * block : 0;
    const auto take = [&](std::byte* to, std::uint32_t from) {
        if (from != own) return copy_lent(to, from, {start, start, block});
        if (to != source + start) std::memcpy(to, source + start, block);
    };
    if (call.what == scatter) return take(call.target, call.root);
    for (std::uint32_t i = 0; i < members_.count(); ++i) {
        const std::uint32_t from = (own + i) % members_.count();
        take(call.target + from * block, from);
    }
}

}  // namespace selion::collectives
