// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "selion/detail/word_access.hpp"
#include "selion/expect.hpp"
#include "selion/signal.hpp"

namespace selion::collectives {
namespace {

/// From this many bytes over all ranks, each rank combines its share instead of everything.
constexpr std::size_t share_bytes = 64 * 1024;

/// "broadcast of 24 bytes from root 0 at solver.cpp:12".
std::string text_of(const call_signature& call) {
    const auto what = static_cast<machine::operation>(call.what);
    std::string text(name_of(what));
    if (what == machine::operation::broadcast) {
        text += fmt::format(" of {} bytes from root {}", call.count, call.root);
    } else if (what == machine::operation::all_reduce) {
        text += fmt::format(" of {} element{} of {} bytes", call.count, call.count == 1 ? "" : "s",
                            call.element_bytes);
    }
    return text + " at " + machine::site_text(call.site);
}

std::uint64_t address_in_block(std::uint32_t rank, std::size_t offset) {
    return (std::uint64_t{rank} << detail::offset_bits) + block_offset(rank) + offset;
}

}  // namespace

team_state::team_state(detail::rank_context& context)
    : context_(context), own_(block(context.rank)) {
    if (!context.words_mapped) {
        buffer_ = std::make_unique_for_overwrite<slot_copy>();
    } else if (context.group_size == 1 || context.groups == 1) {
        // The centre counts groups, or ranks where there is one group. A rank alone on its carrier
        // is its group.
        centre_ = &block(0).arrivals.word;
        centre_members_ = context.groups == 1 ? context.ranks : context.groups;
    }
}

team_block& team_state::block(std::uint32_t rank) const {
    const std::uint64_t index = rank - context_.first_mapped;
    return *reinterpret_cast<team_block*>(context_.mapped_base + index * context_.stride_bytes +
                                          block_offset(rank));
}

std::byte* team_state::own_slot() { return own_.slots[slot_turn_ % slot_sets]; }

void team_state::synchronise(machine::wait_reason reason) {
    if (centre_ != nullptr) {
        if (arrive_at_centre()) {
            release_centre();
        } else {
            wait_at_centre(reason);
        }
        return;
    }
    ++round_;
    if (context_.words_mapped) {
        synchronise_groups(reason);
    } else {
        synchronise_by_signals(reason);
    }
}

/// The last rank of each carrier meets those of the others.
void team_state::meet_groups(machine::wait_reason reason) {
    detail::shared_word& centre = block(0).arrivals.word;
    const std::uint64_t everybody = round_ * context_.groups;
    if (detail::word_add_quietly(centre, 1) + 1 == everybody) {
        detail::word_changed(context_, centre);  // only the last arrival may find sleepers
    } else if (!detail::word_arrives_soon(context_, centre, everybody)) {
        context_.clock->wait(*detail::current_context, {centre, everybody, reason});
    }
}

/// Meets the ranks of the own carrier first; the last of them meets the other carriers.
void team_state::synchronise_groups(machine::wait_reason reason) {
    team_block& group = block(context_.group_first);
    const std::uint64_t everybody_here = round_ * context_.group_size;
    if (detail::word_add_quietly(group.group_arrivals.word, 1) + 1 == everybody_here) {
        meet_groups(reason);
        detail::word_store(context_, group.group_release.word, round_);
    } else if (!detail::word_arrives_soon(context_, group.group_release.word, round_)) {
        context_.clock->wait(*detail::current_context, {group.group_release.word, round_, reason});
    }
}

/// Dissemination: in round k every rank signals the one 2^k behind it, and waits for the one
/// before.
void team_state::synchronise_by_signals(machine::wait_reason reason) {
    context_.transport->quiet(context_);
    for (std::uint32_t k = 0; (std::uint64_t{1} << k) < context_.ranks; ++k) {
        const auto peer =
            static_cast<std::uint32_t>((context_.rank + (std::uint64_t{1} << k)) % context_.ranks);
        const std::uint64_t signal =
            address_in_block(peer, offsetof(team_block, rounds) + k * sizeof(lonely_word));
        context_.transport->put_signal(context_, {signal, nullptr, 0, signal, signal_add(1)});
        detail::shared_word& mine = own_.rounds[k].word;
        if (!detail::word_arrives_soon(context_, mine, round_)) {
            context_.clock->wait(*detail::current_context, {mine, round_, reason});
        }
    }
}

const std::byte* team_state::slot_of(std::uint32_t rank, std::size_t offset, std::size_t bytes) {
    const std::size_t set = slot_turn_ % slot_sets;
    if (rank - context_.first_mapped < context_.mapped_count) {
        return block(rank).slots[set] + offset;
    }
    const std::size_t place = offsetof(team_block, slots) + set * slot_bytes + offset;
    context_.transport->get(context_, buffer_->bytes, address_in_block(rank, place), bytes);
    return buffer_->bytes;
}

void team_state::broadcast(std::span<std::byte> data, std::uint32_t root) {
    do {
        const std::span part = data.first(std::min(data.size(), slot_bytes));
        data = data.subspan(part.size());
        ++slot_turn_;
        const bool is_root = context_.rank == root;
        if (is_root && !part.empty()) std::memcpy(own_slot(), part.data(), part.size());
        synchronise(machine::wait_reason::collective);
        if (!is_root && !part.empty()) {
            std::memcpy(part.data(), slot_of(root, 0, part.size()), part.size());
        }
    } while (!data.empty());
}

void team_state::all_reduce(std::byte* data, std::size_t count, const detail::reduction& how) {
    const std::size_t most = slot_bytes / how.element_bytes;
    do {
        const std::size_t part = std::min(count, most);
        const std::size_t bytes = part * how.element_bytes;
        ++slot_turn_;
        if (bytes != 0) std::memcpy(own_slot(), data, bytes);
        synchronise(machine::wait_reason::collective);
        if (bytes * context_.ranks < share_bytes) {
            combine_slots(data, 0, part, how);
        } else {
            combine_shares(data, part, how);
        }
        data += bytes;
        count -= part;
    } while (count != 0);
}

/// Combines elements `first` to `first + count - 1` of all slots, in the order of the ranks.
void team_state::combine_slots(std::byte* data, std::size_t first, std::size_t count,
                               const detail::reduction& how) {
    const std::size_t start = first * how.element_bytes;
    const std::size_t bytes = count * how.element_bytes;
    if (bytes == 0) return;
    std::memcpy(data + start, slot_of(0, start, bytes), bytes);
    for (std::uint32_t rank = 1; rank < context_.ranks; ++rank) {
        how.combine(how.operation, data + start, slot_of(rank, start, bytes), count);
    }
}

/// Each rank combines its share of the elements, puts it into its own slot where only it has
/// looked, and then everybody copies all shares.
void team_state::combine_shares(std::byte* data, std::size_t count, const detail::reduction& how) {
    const auto first_of = [&](std::uint64_t rank) { return count * rank / context_.ranks; };
    const std::size_t first = first_of(context_.rank);
    const std::size_t mine = first_of(context_.rank + 1) - first;
    combine_slots(data, first, mine, how);
    if (mine != 0) {
        std::memcpy(own_slot() + first * how.element_bytes, data + first * how.element_bytes,
                    mine * how.element_bytes);
    }
    synchronise(machine::wait_reason::collective);
    for (std::uint32_t rank = 0; rank < context_.ranks; ++rank) {
        const std::size_t start = first_of(rank) * how.element_bytes;
        const std::size_t bytes = first_of(rank + 1) * how.element_bytes - start;
        if (rank != context_.rank && bytes != 0) {
            std::memcpy(data + start, slot_of(rank, start, bytes), bytes);
        }
    }
}

void team_state::check(const call_signature& mine) {
    const std::size_t set = ++check_turn_ % slot_sets;
    own_.signatures[set] = mine;
    synchronise(machine::wait_reason::collective);
    call_signature first;
    if (context_.mapped_count == context_.ranks) {
        first = block(0).signatures[set];
    } else {
        const std::size_t place = offsetof(team_block, signatures) + set * sizeof(call_signature);
        context_.transport->get(context_, &first, address_in_block(0, place), sizeof first);
    }
    if (mine.agrees_with(first)) return;
    const bool is_same_call = mine.what == first.what;
    context_.host->launcher().end_job(
        context_,
        fmt::format(
            "the ranks disagree about collective #{}: rank {} calls {}, rank 0 calls {}{}",
            machine::look_at(context_.call->instance), context_.rank, text_of(mine), text_of(first),
            is_same_call && mine.type_hash != first.type_hash ? "; types or operations differ"
                                                              : ""));
}

}  // namespace selion::collectives
