// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "selion/detail/word_access.hpp"
#include "selion/expect.hpp"
#include "selion/signal.hpp"

namespace selion::collectives {
namespace {

/// From this many bytes over all ranks, each rank combines its share instead of everything.
constexpr std::size_t share_bytes = 64 * 1024;
/// Slots are combined in strips of this size, so that the partial results stay in the first-level
/// cache.
constexpr std::size_t strip_bytes = 4 * 1024;

/// "broadcast of 24 bytes from root 0 at solver.cpp:12".
std::string text_of(const call_signature& call) {
    const auto what = static_cast<machine::operation>(call.what);
    std::string text(name_of(what));
    if (what == machine::operation::broadcast) {
        text += fmt::format(" of {} bytes", call.count);
    } else if (call.element_bytes != 0) {
        text += fmt::format(" of {} element{} of {} bytes", call.count, call.count == 1 ? "" : "s",
                            call.element_bytes);
    }
    const bool gives = what == machine::operation::broadcast || what == machine::operation::scatter;
    if (call.root != no_root) text += fmt::format(" {} root {}", gives ? "from" : "at", call.root);
    return text + " at " + machine::site_text(call.site);
}

}  // namespace

team_state::team_state(detail::rank_context& context, team_members members)
    : context_(context),
      members_(std::move(members)),
      own_(block(members_.own())),
      messages_(context, members_) {
    if (members_.are_mapped() && (members_.group_size() == 1 || members_.groups() == 1)) {
        // The centre counts groups, or members where there is one group. A member alone on its
        // carrier is its group.
        centre_ = &block(0).arrivals.word;
        centre_members_ = members_.groups() == 1 ? members_.count() : members_.groups();
    }
}

std::byte* team_state::own_slot() { return own_.slots[slot_turn_ % slot_sets]; }

const std::byte* team_state::slot_of(std::uint32_t rank) const {
    return block(rank).slots[slot_turn_ % slot_sets];
}

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
    if (members_.are_mapped()) {
        synchronise_groups(reason);
    } else {
        synchronise_by_signals(reason);
    }
}

/// The last rank of each carrier meets those of the others.
void team_state::meet_groups(machine::wait_reason reason) {
    detail::shared_word& centre = block(0).arrivals.word;
    const std::uint64_t everybody = round_ * members_.groups();
    if (machine::word_add_quietly(context_, centre, 1) + 1 == everybody) {
        detail::word_changed(context_, centre);  // only the last arrival may find sleepers
    } else {
        detail::await_word(context_, {centre, everybody, reason});
    }
}

/// Meets the ranks of the own carrier first; the last of them meets the other carriers.
void team_state::synchronise_groups(machine::wait_reason reason) {
    team_block& group = block(members_.group_first());
    const std::uint64_t everybody_here = round_ * members_.group_size();
    if (machine::word_add_quietly(context_, group.group_arrivals.word, 1) + 1 == everybody_here) {
        meet_groups(reason);
        machine::word_store(context_, group.group_release.word, round_);
    } else {
        detail::await_word(context_, {group.group_release.word, round_, reason});
    }
}

/// Dissemination: in round k every rank signals the one 2^k behind it, and waits for the one
/// before.
void team_state::synchronise_by_signals(machine::wait_reason reason) {
    context_.transport->quiet(context_);
    for (std::uint32_t k = 0; (std::uint64_t{1} << k) < members_.count(); ++k) {
        const auto peer = static_cast<std::uint32_t>((members_.own() + (std::uint64_t{1} << k)) %
                                                     members_.count());
        const std::uint64_t signal =
            members_.address(peer, offsetof(team_block, rounds) + k * sizeof(lonely_word));
        // Where many ranks share a processor, the own word is in no cache by now.
        __builtin_prefetch(&own_.rounds[k].word);
        context_.transport->put(context_, {signal, nullptr, 0, signal, signal_add(1)});
        detail::await_word(context_, {own_.rounds[k].word, round_, reason});
    }
}

void team_state::broadcast(std::span<std::byte> data, std::uint32_t root) {
    if (!members_.are_mapped()) return messages_.broadcast(data, root);
    do {
        const std::span part = data.first(std::min(data.size(), slot_bytes));
        data = data.subspan(part.size());
        ++slot_turn_;
        const bool is_root = members_.own() == root;
        if (is_root) write_slot(0, part);
        synchronise(machine::wait_reason::collective);
        if (!is_root) read_slot(root, 0, part);
    } while (!data.empty());
}

void team_state::all_reduce(std::byte* data, std::size_t count, const detail::reduction& how) {
    if (!members_.are_mapped()) return messages_.all_reduce(data, count, how);
    prepare_partials(how.element_bytes);
    const std::size_t most = slot_bytes / how.element_bytes;
    do {
        const std::size_t part = std::min(count, most);
        const std::size_t bytes = part * how.element_bytes;
        ++slot_turn_;
        write_slot(0, {data, bytes});
        synchronise(machine::wait_reason::collective);
        if (bytes * members_.count() < share_bytes) {
            combine_slots(data, {0, part, members_.count()}, how);
        } else {
            combine_shares(data, part, how);
        }
        data += bytes;
        count -= part;
    } while (count != 0);
}

void team_state::write_slot(std::size_t start, std::span<const std::byte> data) {
    if (data.empty()) return;
    machine::announce_write(context_, own_slot() + start, data.size());
    std::memcpy(own_slot() + start, data.data(), data.size());
}

void team_state::read_slot(std::uint32_t rank, std::size_t start, std::span<std::byte> data) {
    if (data.empty()) return;
    machine::announce_read(context_, slot_of(rank) + start, data.size());
    std::memcpy(data.data(), slot_of(rank) + start, data.size());
}

/// Before the ranks meet, so that whoever returns knows that all have what they need.
void team_state::prepare_partials(std::size_t element_bytes) {
    if (members_.count() <= 2) return;
    // The place below all others is the caller's data.
    const auto places = static_cast<std::size_t>(std::bit_width(members_.count() - 1)) - 1;
    partials_.reserve(places * std::max(element_bytes, strip_bytes));
}

/// Strip by strip.
void team_state::combine_slots(std::byte* to, slot_part where, const detail::reduction& how) {
    const std::size_t strip = std::max<std::size_t>(strip_bytes / how.element_bytes, 1);
    for (std::size_t left = where.count; left != 0; left -= where.count) {
        where.count = std::min(left, strip);
        combine_strip(to, where, how);
        const std::size_t bytes = where.count * how.element_bytes;
        to += bytes;
        where.start += bytes;
    }
}

/// Goes through the slots in the order of the ranks and comes to the association of
/// binomial_tree.hpp: partial results wait on a stack, and the two on top are combined as soon as
/// they stand for equally many ranks, as the digits of a binary counter are.
void team_state::combine_strip(std::byte* to, const slot_part& where,
                               const detail::reduction& how) {
    const std::size_t bytes = where.count * how.element_bytes;
    const auto place = [&](std::size_t depth) {
        return depth == 0 ? to : partials_.data() + (depth - 1) * bytes;
    };
    const auto slot = [&](std::uint32_t rank) {
        machine::announce_read(context_, slot_of(rank) + where.start, bytes);
        return slot_of(rank) + where.start;
    };
    const auto combine = [&](std::byte* left, const std::byte* right) {
        how.combine(how.operation, left, left, right, where.count);
        charge(flops(where.count));
    };
    std::size_t depth = 0;
    for (std::uint32_t rank = 0; rank < where.ranks; rank += 2) {
        std::byte* const top = place(depth++);
        if (rank + 1 == where.ranks) {
            std::memcpy(top, slot(rank), bytes);
            break;
        }
        how.combine(how.operation, top, slot(rank), slot(rank + 1), where.count);
        charge(flops(where.count));
        for (std::uint32_t pairs = rank / 2; pairs % 2 != 0; pairs /= 2) {
            --depth;
            combine(place(depth - 1), place(depth));
        }
    }
    if (where.from_left) {
        for (std::size_t next = 1; next < depth; ++next) combine(to, place(next));
    } else {
        for (; depth > 1; --depth) combine(place(depth - 2), place(depth - 1));
    }
}

/// Each rank combines its share of the elements, puts it into its own slot where only it has
/// looked, and then everybody copies all shares.
void team_state::combine_shares(std::byte* data, std::size_t count, const detail::reduction& how) {
    const auto first_of = [&](std::uint64_t rank) { return count * rank / members_.count(); };
    const std::size_t first = first_of(members_.own());
    const std::size_t mine = first_of(members_.own() + 1) - first;
    const std::size_t own_start = first * how.element_bytes;
    combine_slots(data + own_start, {own_start, mine, members_.count()}, how);
    write_slot(own_start, {data + own_start, mine * how.element_bytes});
    synchronise(machine::wait_reason::collective);
    for (std::uint32_t rank = 0; rank < members_.count(); ++rank) {
        const std::size_t start = first_of(rank) * how.element_bytes;
        const std::size_t bytes = first_of(rank + 1) * how.element_bytes - start;
        if (rank != members_.own()) read_slot(rank, start, {data + start, bytes});
    }
}

/// What rank 0 is about to do.
call_signature team_state::first_signature(const call_signature& mine) {
    const std::size_t set = ++check_turn_ % slot_sets;
    if (!members_.are_mapped()) {
        call_signature first = mine;
        messages_.broadcast(std::as_writable_bytes(std::span(&first, 1)), 0);
        return first;
    }
    own_.signatures[set] = mine;
    synchronise(machine::wait_reason::collective);
    return block(0).signatures[set];
}

void team_state::check(const call_signature& mine) {
    const call_signature first = first_signature(mine);
    if (mine.agrees_with(first)) return;
    const bool is_same_call = mine.what == first.what;
    context_.host->launcher().end_job(
        context_,
        fmt::format("the ranks disagree about collective #{}{}: rank {} calls {}, rank "
                    "{} calls {}{}",
                    is_everybody() ? machine::look_at(context_.call->instance) : check_turn_,
                    is_everybody() ? "" : fmt::format(" of a team of {}", members_.count()),
                    context_.rank, text_of(mine), members_.world_rank(0), text_of(first),
                    is_same_call && mine.type_hash != first.type_hash
                        ? "; types or operations differ"
                        : ""));
}

}  // namespace selion::collectives
