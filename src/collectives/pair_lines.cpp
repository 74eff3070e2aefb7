// SPDX-License-Identifier: Apache-2.0
#include "collectives/pair_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/own_address.hpp"
#include "onesided/symmetric_heap.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::collectives {
namespace {

/// Beside a line's number, where short messages have their length: a long one, by its place, or
/// that it comes by the machine.
constexpr std::uint32_t is_long_at_address = UINT32_MAX;
constexpr std::uint32_t is_long_at_global_address = UINT32_MAX - 1;
constexpr std::uint32_t is_by_machine = UINT32_MAX - 2;
static_assert(line_payload < is_by_machine);

/// Short messages that are taken before their sender is told.
constexpr std::uint64_t lines_between_tellings = line_window / 2;

}  // namespace

auto pair_lines::make_ends(detail::rank_context& context,
                           std::size_t count) -> std::optional<introduction> {
    const auto offset = context.heap->allocate_for_runtime(count * sizeof(pair_end));
    if (!offset) return std::nullopt;
    return introduction{detail::global_address(context.rank, *offset),
                        context.host->launcher().place_of(context, locality::process)};
}

void pair_lines::drop_ends(detail::rank_context& context, std::size_t count,
                           const introduction& own) {
    context.heap->deallocate_for_runtime(own.ends & detail::offset_mask, count * sizeof(pair_end));
}

pair_lines::pair_lines(detail::rank_context& context, const team_members& team,
                       std::vector<std::uint32_t> members, const std::vector<introduction>& all)
    : context_(context), team_(team), members_(std::move(members)), copies_(context) {
    const auto ends_of = [&](const introduction& one) {
        return reinterpret_cast<pair_end*>(detail::mapped_address(context, one.ends));
    };
    const std::size_t here = position_of(team.own());
    own_ends_ = all[here].ends & detail::offset_mask;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const bool is_in_process =
            context.simulated != nullptr || all[i].process == all[here].process;
        partners_.push_back({ends_of(all[i]) + here, ends_of(all[here]) + i, is_in_process});
    }
}

/// Mostly they are neighbours in number.
std::size_t pair_lines::position_of(std::uint32_t member) const {
    const std::size_t guess = member - members_.front();
    if (guess < members_.size() && members_[guess] == member) return guess;
    return static_cast<std::size_t>(std::ranges::lower_bound(members_, member) - members_.begin());
}

bool pair_lines::reaches(std::uint32_t member) const {
    const std::size_t at = position_of(member);
    return at < members_.size() && members_[at] == member;
}

pair_lines::~pair_lines() {
    context_.heap->deallocate_for_runtime(own_ends_, partners_.size() * sizeof(pair_end));
}

std::uint64_t pair_lines::memory::await_taken(std::uint64_t at_least) const {
    detail::shared_word& taken = other.here->taken;
    detail::await_word(context, {taken, at_least, machine::wait_reason::collective});
    return detail::word_load(taken);
}

void pair_lines::memory::tell_taken(std::uint64_t number) const {
    machine::word_store(context, other.there->taken, number);
}

void pair_lines::send(std::uint32_t member, message_pieces data, bool may_lend) {
    partner& to = partners_[position_of(member)];
    memory words{context_, to};
    const std::uint64_t number = lines_protocol::next_to_send(words, to.counts, line_window);
    numbered_line& line = to.there->lines[number % line_window];
    const std::size_t bytes = bytes_of(data);
    if (bytes <= line_payload) {
        machine::announce_write(context_, line.bytes, bytes);
        copy_pieces(line.bytes, data);
        line.number.note = static_cast<std::uint32_t>(bytes);
    } else if (const auto lent = lend(to, data, may_lend)) {
        static_assert(offsetof(numbered_line, bytes) + sizeof(long_message) <= 32);
        lent_to_.push_back(&to);
        machine::announce_write(context_, line.bytes, sizeof lent->what);
        std::memcpy(line.bytes, &lent->what, sizeof lent->what);
        line.number.note = lent->is_global ? is_long_at_global_address : is_long_at_address;
    } else {
        line.number.note = is_by_machine;
        machine::word_store(context_, line.number, number);
        return inbox_way(context_, team_, no_collective).send(member, data, may_lend);
    }
    machine::word_store(context_, line.number, number);
}

/// One piece that stays as it is may be read where it lies, if the receiver sees that memory. Where
/// the collective may end before it is done, nothing of the caller's does.
/// @return nothing: the heap has no room for a copy.
auto pair_lines::lend(const partner& to, message_pieces data,
                      bool may_lend) -> std::optional<lent_message> {
    const std::size_t bytes = bytes_of(data);
    const detail::rank_context& caller = *detail::current_context;
    const bool may_end_early =
        caller.own.deadline_ns != machine::no_deadline || caller.deaths != nullptr;
    if (may_lend && data.size() == 1 && !may_end_early) {
        const std::byte* const start = data.front().data();
        const auto own = detail::own_address(context_, start, bytes);
        if (own) return lent_message{{*own, bytes}, true};
        if (to.is_in_process) {
            return lent_message{{reinterpret_cast<std::uint64_t>(start), bytes}, false};
        }
    }
    if (to.is_in_process) {
        std::byte* const copy = private_copy(bytes);
        machine::announce_write(context_, copy, bytes);
        copy_pieces(copy, data);
        return lent_message{{reinterpret_cast<std::uint64_t>(copy), bytes}, false};
    }
    const auto copy = copies_.take(bytes);
    if (!copy) return std::nullopt;
    machine::announce_write(context_, detail::mapped_address(context_, *copy), bytes);
    copy_pieces(detail::mapped_address(context_, *copy), data);
    return lent_message{{*copy, bytes}, true};
}

/// Until the end of the step.
std::byte* pair_lines::private_copy(std::size_t bytes) {
    if (used_private_ == private_.size()) private_.emplace_back();
    aligned_bytes& room = private_[used_private_++];
    room.reserve(bytes);
    return room.data();
}

/// All copies may be made anew. Some memory is kept for them, as `segment_copies` does.
void pair_lines::reuse_private() {
    used_private_ = 0;
    std::size_t kept_bytes = 0;
    std::erase_if(private_, [&](const aligned_bytes& one) {
        if (one.bytes() > most_kept_bytes - kept_bytes) return true;
        kept_bytes += one.bytes();
        return false;
    });
}

const std::byte* pair_lines::place_of(const lent_message& lent) const {
    return lent.is_global ? detail::mapped_address(context_, lent.what.place)
                          : reinterpret_cast<const std::byte*>(lent.what.place);
}

/// As long as its sender says.
std::span<const std::byte> pair_lines::receive(std::uint32_t member, std::size_t expected,
                                               std::byte* /*place*/) {
    release_last();
    partner& from = partners_[position_of(member)];
    const std::uint64_t number = ++from.counts.received;
    numbered_line& line = from.here->lines[number % line_window];
    detail::await_word(context_, {line.number, number, machine::wait_reason::collective});
    last_received_from_ = &from;
    last_was_long_ = line.number.note > line_payload;
    if (!last_was_long_) {
        machine::announce_read(context_, line.bytes, line.number.note);
        return {line.bytes, line.number.note};
    }
    if (line.number.note == is_by_machine) {
        last_by_machine_.emplace(context_, team_, no_collective);
        return last_by_machine_->receive(member, expected, nullptr);
    }
    lent_message lent{.what = {}, .is_global = line.number.note == is_long_at_global_address};
    machine::announce_read(context_, line.bytes, sizeof lent.what);
    std::memcpy(&lent.what, line.bytes, sizeof lent.what);
    const std::span read(place_of(lent), lent.what.bytes);
    machine::announce_read(context_, read.data(), read.size());
    return read;
}

/// What has been received last has been read.
void pair_lines::release_last() {
    if (last_received_from_ == nullptr) return;
    partner& from = *std::exchange(last_received_from_, nullptr);
    last_by_machine_.reset();
    memory words{context_, from};
    lines_protocol::release(words, from.counts, last_was_long_ ? 1 : lines_between_tellings);
}

void pair_lines::end_step() {
    release_last();
    for (partner* const to : lent_to_) {
        to->counts.freed = memory{context_, *to}.await_taken(to->counts.sent);
    }
    if (!lent_to_.empty()) copies_.reuse();
    lent_to_.clear();
    if (used_private_ != 0) reuse_private();
}

}  // namespace selion::collectives
