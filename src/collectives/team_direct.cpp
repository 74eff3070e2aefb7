// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_direct.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "selion/detail/late_memory.hpp"

namespace selion::collectives {
namespace {

/// Results that must not be written while their parts are read go through a place of this size.
constexpr std::size_t strip_bytes = 8 * 1024;
/// Staged data are read in parts of this size, as they come.
constexpr std::size_t read_bytes = 16 * 1024;
/// A vector is reduced in rounds of so much, so that what one member makes is still in its cache
/// when the others take it.
constexpr std::size_t round_bytes = data_lender::stage_bytes;

/// Whole elements.
std::size_t strip_of(const detail::reduction& how) {
    return std::max<std::size_t>(strip_bytes / how.element_bytes, 1) * how.element_bytes;
}

/// From where a vector is given to where its sum goes, which may be the same.
void copy_to_target(const detail::block_call& call) {
    if (call.source == call.target || call.count == 0) return;
    std::memcpy(call.target, call.source, call.block_bytes());
}

/// Bytes that a member has staged before it comes to a share: those of the next members go first.
std::size_t staged_before(const vector_shares& all, std::uint32_t member, std::uint32_t share) {
    std::size_t staged = 0;
    for (std::uint32_t next = (member + 1) % all.members; next != share;
         next = (next + 1) % all.members) {
        staged += all.bytes_of(next);
    }
    return staged;
}

}  // namespace

/// By the first collective that goes this way, together: whether all members address all memory of
/// each other, and else memory to copy to. @return false, at all members, when one of them has no
/// room.
bool team_direct::can_lend() {
    if (can_lend_) return *can_lend_;
    if (context_.host->description().processes == 1) return *(can_lend_ = true);
    const std::vector<char> all = slots_.all_gather<char>(lender_.make_stage());
    can_lend_ = std::ranges::find(all, false) == all.end();
    if (!*can_lend_) lender_.drop_stage();
    return *can_lend_;
}

/// By the first collective that goes this way, together: whether everybody can read, and so
/// write, all memory of all the others. @return the same at all members.
bool team_direct::can_read() {
    if (can_read_) return *can_read_;
    if (context_.host->description().processes == 1) return *(can_read_ = true);
    // One that may be gone is read where it has staged what it gives.
    const bool may_die = context_.deaths != nullptr;
    const std::vector<machine::process_card> cards =
        slots_.all_gather(may_die ? machine::process_card{} : machine::own_process_card());
    const std::vector<char> all = slots_.all_gather<char>(lender_.meet_processes(cards));
    can_read_ = std::ranges::find(all, false) == all.end();
    return *can_read_;
}

void team_direct::run(const detail::block_call& call) {
    // By-value forms rely on it that so short a value is copied (detail/late_memory.hpp).
    if (call.most_bytes() <= detail::most_short_bytes) return slots_.run(call);
    if (call.what == collective_kind::reduce) return reduce(call);
    if (call.what == collective_kind::reduce_scatter) return reduce_scatter(call);
    const bool is_combined = call.what == collective_kind::all_reduce;
    if (is_combined || call.what == collective_kind::broadcast) {
        if (!can_lend()) return slots_.run(call);
        return is_combined ? all_reduce(call) : broadcast(call);
    }
    if (!can_read()) return slots_.run(call);
    const std::size_t copied_before = std::exchange(copied_, 0);
    lender_.begin_turn();
    if (call.what == collective_kind::gather) {
        gather(call);
    } else {
        exchange(call);
    }
    meeting_.synchronise(machine::wait_reason::collective);
    // Nobody reads it any more. A program that repeats the call finds it again: to ask for long
    // memory anew, page by page, takes as long as the exchange.
    if (copied_ != copied_before) copy_ = {};
}

bool team_direct::can_go(collective_kind what, std::size_t bytes) const {
    if (bytes <= detail::most_short_bytes) return false;
    if (what == collective_kind::all_reduce || what == collective_kind::broadcast) {
        return can_lend_.value_or(true);
    }
    if (context_.host->description().processes == 1) return true;
    return can_read_.value_or(context_.deaths == nullptr &&
                              machine::own_process_card().process != 0);
}

void team_direct::broadcast(const detail::block_call& call) {
    const std::size_t bytes = call.block_bytes();
    const std::size_t most = lender_.has_stage() ? data_lender::stage_bytes : bytes;
    for (std::size_t start = 0; start < bytes; start += most) {
        const std::span part(call.target + start, std::min(most, bytes - start));
        lender_.begin_turn();
        if (members_.count() == 2) {
            broadcast_by_both(part, call.root);
        } else if (members_.own() == call.root) {
            lender_.offer(part);
            lender_.stage(0, part.size());
        } else {
            copy_lent(part.data(), call.root, {0, 0, part.size()});
        }
        meeting_.synchronise(machine::wait_reason::collective);
    }
}

/// Two members share the work: the root writes the first half where it is to go, if it sees that
/// memory, while the other one reads the second.
void team_direct::broadcast_by_both(std::span<std::byte> part, std::uint32_t root) {
    const std::size_t half = part.size() / 2 / detail::line_bytes * detail::line_bytes;
    if (members_.own() != root) {
        const std::size_t start = lender_.offer_room(part, root) ? half : 0;
        return copy_lent(part.data() + start, root, {start, 0, part.size() - start});
    }
    lender_.offer(part);
    const bool gives = lender_.sees_room(1 - root);
    if (gives) lender_.give(part.first(half), 1 - root, 0);
    lender_.stage(gives ? half : 0, part.size() - (gives ? half : 0));
}

/// Copies a member's data as they become readable.
void team_direct::copy_lent(std::byte* to, std::uint32_t from, lent_part part) {
    for (std::size_t done = 0; done < part.bytes; done += read_bytes) {
        const std::size_t now = std::min(part.bytes - done, read_bytes);
        const std::byte* const data = lender_.data_of(from, part.staged_before + done + now);
        lender_.read(data + part.start + done, now);
        std::memcpy(to + done, data + part.start + done, now);
    }
}

void team_direct::all_reduce(const detail::block_call& call) {
    copy_to_target(call);
    combination_.prepare(members_.count(), call.element_bytes);
    const std::size_t most = round_bytes / call.element_bytes;
    std::byte* data = call.target;
    for (std::size_t left = call.count; left != 0;) {
        const std::size_t now = std::min(left, most);
        lender_.begin_turn();
        lender_.offer({data, now * call.element_bytes});
        reduce_round(data, now, *call.how);
        meeting_.synchronise(machine::wait_reason::collective);
        data += now * call.element_bytes;
        left -= now;
    }
}

/// Everybody combines its share of the elements of all, and then takes the other shares. A member
/// stages the share of the next member first, and its own when it is done.
void team_direct::reduce_round(std::byte* data, std::size_t count, const detail::reduction& how) {
    const vector_shares all{count, how.element_bytes, members_.count()};
    const std::uint32_t own = members_.own();
    const std::size_t bytes = count * how.element_bytes;
    for (std::uint32_t i = 1; i < all.members; ++i) {
        const std::uint32_t share = (own + i) % all.members;
        lender_.stage(all.start_of(share), all.bytes_of(share));
    }
    const bool gives_results = lender_.may_write_to_all();
    combine_lent(data, all, how, gives_results);
    if (gives_results) return;
    lender_.stage(all.start_of(own), all.bytes_of(own));
    meeting_.synchronise(machine::wait_reason::collective);
    for (std::uint32_t i = 1; i < all.members; ++i) {
        const std::uint32_t share = (own + i) % all.members;
        const std::size_t start = all.start_of(share);
        copy_lent(data + start, share, {start, bytes - all.bytes_of(share), all.bytes_of(share)});
    }
}

/// Combines everybody's elements of the own share, strip by strip as they become readable.
/// @param gives_results to all members, while a strip is at hand: then nobody has to meet before it
/// is read. Its place has been read by this member, and no other.
void team_direct::combine_lent(std::byte* data, const vector_shares& all,
                               const detail::reduction& how, bool gives_results) {
    const std::uint32_t own = members_.own();
    const std::size_t start = all.start_of(own);
    const std::size_t bytes = all.bytes_of(own);
    const std::size_t strip = strip_of(how);
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
                                     staged_before(all, member, own) + done + now;
                                 const std::byte* const value =
                                     lender_.data_of(member, readable) + start + done + from;
                                 lender_.read(value, part);
                                 return value;
                             });
        if (to != result) std::memcpy(result, to, now);
        if (gives_results) give_to_all({result, now}, start + done);
    }
}

void team_direct::give_to_all(std::span<const std::byte> result, std::size_t start) {
    for (std::uint32_t i = 1; i < members_.count(); ++i) {
        lender_.give(result, (members_.own() + i) % members_.count(), start);
    }
}

/// Everybody combines its share of the elements, straight to where the root's are, of which only
/// that share's are read by it. A root that may give up combines all itself.
void team_direct::reduce(const detail::block_call& call) {
    const std::uint32_t own = members_.own();
    const vector_shares all{call.count, call.element_bytes, members_.count()};
    combination_.prepare(members_.count(), call.element_bytes);
    if (own == call.root) copy_to_target(call);
    lender_.begin_turn();
    std::byte* const read_only = const_cast<std::byte*>(call.source);
    lender_.offer({own == call.root ? call.target : read_only, call.block_bytes()});
    if (std::byte* const result = lender_.lasting_data_of(call.root)) {
        if (own != call.root) {
            machine::announce_write(context_, result + all.start_of(own), all.bytes_of(own));
        }
        combine_seen(result + all.start_of(own), {all.start_of(own), all.bytes_of(own)}, *call.how);
    } else if (own == call.root) {
        combine_seen(call.target, {0, call.block_bytes()}, *call.how);
    }
    meeting_.synchronise(machine::wait_reason::collective);
}

/// Everybody combines its block of the data of all.
void team_direct::reduce_scatter(const detail::block_call& call) {
    const std::size_t block = call.block_bytes();
    combination_.prepare(members_.count(), call.element_bytes);
    lender_.begin_turn();
    lender_.offer({const_cast<std::byte*>(call.source), block * members_.count()});
    combine_seen(call.target, {members_.own() * block, block}, *call.how);
    meeting_.synchronise(machine::wait_reason::collective);
}

/// Combines everybody's elements of a part, which all see.
/// @param to may be where one of the values is that are combined.
void team_direct::combine_seen(std::byte* to, seen_part part, const detail::reduction& how) {
    const std::uint32_t members = members_.count();
    const std::size_t strip = strip_of(how);
    strip_.reserve(strip);
    for (std::size_t done = 0; done < part.bytes; done += strip) {
        const std::size_t now = std::min(part.bytes - done, strip);
        // Two values can be combined in place.
        std::byte* const place = members <= 2 ? to + done : strip_.data();
        combination_.combine(place, {now / how.element_bytes, members}, how,
                             [&](std::uint32_t member, std::size_t from, std::size_t bytes) {
                                 const std::byte* const value =
                                     lender_.data_of(member, 0) + part.start + done + from;
                                 if (member != members_.own()) lender_.read(value, bytes);
                                 return value;
                             });
        if (place != to + done) std::memcpy(to + done, place, now);
    }
}

/// Those who give a block write it, all at once.
void team_direct::gather(const detail::block_call& call) {
    const std::uint32_t own = members_.own();
    const std::size_t block = call.block_bytes();
    const std::span source(call.source, block);
    if (own != call.root) return lender_.give(source, call.root, own * block);
    lender_.offer_in_place({call.target, block * members_.count()});
    std::byte* const to = call.target + own * block;
    if (to != source.data() && block != 0) std::memcpy(to, source.data(), block);
}

/// All-gather, scatter and exchange: those who get blocks read them.
void team_direct::exchange(const detail::block_call& call) {
    const std::uint32_t own = members_.own();
    const std::size_t block = call.block_bytes();
    const bool gives_for_all = gives_all(call.what);
    const std::size_t given = gives_for_all ? block * members_.count() : block;
    const std::byte* source = call.source;
    if (call.what == collective_kind::exchange && call.source == call.target) {
        copied_ = given;
        copy_.reserve(given);
        if (given != 0) std::memcpy(copy_.data(), call.source, given);
        source = copy_.data();
    }
    if (call.what != collective_kind::scatter || own == call.root) {
        lender_.offer_in_place({source, given});
    }
    const std::size_t start = gives_for_all ? own * block : 0;
    const auto take = [&](std::byte* to, std::uint32_t from) {
        if (from != own) return lender_.copy({to, block}, from, start);
        if (to != source + start && block != 0) std::memcpy(to, source + start, block);
    };
    if (call.what == collective_kind::scatter) return take(call.target, call.root);
    for (std::uint32_t i = 0; i < members_.count(); ++i) {
        const std::uint32_t from = (own + i) % members_.count();
        take(call.target + from * block, from);
    }
}

}  // namespace selion::collectives
