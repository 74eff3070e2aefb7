// SPDX-License-Identifier: Apache-2.0
#include "collectives/data_lender.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/own_address.hpp"
#include "onesided/symmetric_heap.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::collectives {
namespace {

constexpr std::size_t piece_bytes = 16 * 1024;
/// Members whose offers a member keeps in a turn: in large teams all of them would be too many.
constexpr std::uint32_t most_known = 64;

}  // namespace

/// What the line of a turn says.
struct data_lender::offer_text {
    std::uint64_t place;   ///< a global address, or one of the process
    std::uint64_t staged;  ///< what had been staged before it, ever
    bool is_private;       ///< an address of the process
    bool is_staged;        ///< a copy, which grows
    bool is_lasting;       ///< its owner does not give up before the turn is over
};

/// What a member has said, as read in a turn: its line lies in another cache, and is asked for
/// several times.
struct data_lender::known_offer {
    std::uint64_t turn = 0;
    std::uint32_t member = 0;
    offer_text text{};
};

data_lender::data_lender(detail::rank_context& context, const team_members& members)
    : context_(context), members_(members), own_(members.block(members.own())) {}

data_lender::~data_lender() { drop_stage(); }

bool data_lender::make_stage() {
    const auto offset = context_.heap->allocate_for_runtime(stage_bytes);
    if (offset) stage_ = detail::global_address(context_.rank, *offset);
    return offset.has_value();
}

void data_lender::drop_stage() {
    if (!has_stage()) return;
    context_.heap->deallocate_for_runtime(stage_ & detail::offset_mask, stage_bytes);
    stage_ = detail::null_address;
}

bool data_lender::meet_processes(const std::vector<machine::process_card>& cards) {
    for (const machine::process_card& card : cards) processes_.push_back(card.process);
    return std::ranges::all_of(cards, machine::can_read_memory);
}

void data_lender::offer(std::span<std::byte> data) {
    data_ = data;
    copy_ = nullptr;
    offer_text text{.place = reinterpret_cast<std::uint64_t>(data.data()),
                    .staged = staged_,
                    .is_private = true,
                    .is_staged = false,
                    .is_lasting = is_lasting()};
    if (has_stage()) {
        const auto inside = detail::own_address(context_, data.data(), data.size());
        text.place = inside.value_or(stage_);
        text.is_private = false;
        text.is_staged = !inside.has_value();
        if (!inside) copy_ = detail::mapped_address(context_, stage_);
    }
    publish(text);
}

void data_lender::offer_in_place(std::span<const std::byte> data) {
    const auto inside = detail::own_address(context_, data.data(), data.size());
    const auto place = reinterpret_cast<std::uint64_t>(data.data());
    publish({.place = inside.value_or(place),
             .staged = staged_,
             .is_private = !inside.has_value(),
             .is_staged = false,
             .is_lasting = is_lasting()});
}

bool data_lender::offer_room(std::span<std::byte> room, std::uint32_t giver) {
    offer_in_place(room);
    const bool is_seen =
        !has_stage() || detail::own_address(context_, room.data(), room.size()).has_value();
    return is_seen && is_lasting() && await_offer(giver).is_lasting;
}

bool data_lender::sees_room(std::uint32_t member) {
    if (!is_lasting()) return false;
    const offer_text& text = await_offer(member);
    return text.is_lasting && (!text.is_private || !has_stage());
}

bool data_lender::may_write_to_all() {
    for (std::uint32_t member = 0; member < members_.count(); ++member) {
        const offer_text& text = await_offer(member);
        if (text.is_staged || !text.is_lasting) return false;
    }
    return true;
}

std::byte* data_lender::lasting_data_of(std::uint32_t member) {
    const offer_text& text = await_offer(member);
    return text.is_lasting ? place_of(text) : nullptr;
}

/// Of the calling thread, whose context may be a copy of the rank's.
bool data_lender::is_lasting() const {
    return detail::current_context->own.deadline_ns == machine::no_deadline &&
           context_.deaths == nullptr;
}

void data_lender::publish(const offer_text& text) {
    numbered_line& line = own_.offers[turn_ % offer_sets];
    machine::announce_write(context_, line.bytes, sizeof text);
    std::memcpy(line.bytes, &text, sizeof text);
    machine::word_store(context_, line.number, turn_);
}

/// @return for as long as no other member's is asked for.
const data_lender::offer_text& data_lender::await_offer(std::uint32_t member) {
    if (known_.empty()) known_.resize(std::min(members_.count(), most_known));
    known_offer& known = known_[member % known_.size()];
    if (known.turn == turn_ && known.member == member) return known.text;
    numbered_line& line = members_.block(member).offers[turn_ % offer_sets];
    detail::await_word(context_, {line.number, turn_, machine::wait_reason::collective});
    machine::announce_read(context_, line.bytes, sizeof known.text);
    std::memcpy(&known.text, line.bytes, sizeof known.text);
    known.member = member;
    known.turn = turn_;
    return known.text;
}

/// Whether data lie in memory that this process cannot address.
bool data_lender::is_beyond(const offer_text& text, std::uint32_t member) const {
    return text.is_private && !processes_.empty() && processes_[member] != getpid();
}

std::byte* data_lender::place_of(const offer_text& text) const {
    return text.is_private ? reinterpret_cast<std::byte*>(text.place)
                           : detail::mapped_address(context_, text.place);
}

void data_lender::copy(std::span<std::byte> to, std::uint32_t member, std::size_t start) {
    if (to.empty()) return;
    const offer_text& text = await_offer(member);
    if (is_beyond(text, member)) {
        return machine::read_memory(processes_[member], text.place + start, to);
    }
    const std::byte* const data = place_of(text) + start;
    read(data, to.size());
    std::memcpy(to.data(), data, to.size());
}

void data_lender::give(std::span<const std::byte> from, std::uint32_t member, std::size_t start) {
    if (from.empty()) return;
    const offer_text& text = await_offer(member);
    if (is_beyond(text, member)) {
        return machine::write_memory(processes_[member], text.place + start, from);
    }
    std::byte* const room = place_of(text) + start;
    machine::announce_write(context_, room, from.size());
    std::memcpy(room, from.data(), from.size());
}

void data_lender::stage(std::size_t start, std::size_t bytes) {
    if (copy_ == nullptr) return;
    for (std::size_t done = 0; done < bytes; done += piece_bytes) {
        const std::size_t now = std::min(bytes - done, piece_bytes);
        machine::announce_write(context_, copy_ + start + done, now);
        std::memcpy(copy_ + start + done, data_.data() + start + done, now);
        staged_ += now;
        machine::word_store(context_, own_.staged.word, staged_);
    }
}

const std::byte* data_lender::data_of(std::uint32_t member, std::size_t staged) {
    if (member == members_.own()) return copy_ != nullptr ? copy_ : data_.data();
    const offer_text& text = await_offer(member);
    if (text.is_staged) {
        detail::shared_word& so_far = members_.block(member).staged.word;
        detail::await_word(context_,
                           {so_far, text.staged + staged, machine::wait_reason::collective});
    }
    return place_of(text);
}

void data_lender::read(const std::byte* start, std::size_t bytes) {
    machine::announce_read(context_, start, bytes);
}

}  // namespace selion::collectives
