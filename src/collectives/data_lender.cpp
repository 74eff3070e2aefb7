// SPDX-License-Identifier: Apache-2.0
#include "collectives/data_lender.hpp"

#include <algorithm>
#include <cstring>

#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/global_address.hpp"
#include "onesided/symmetric_heap.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::collectives {
namespace {

constexpr std::size_t piece_bytes = 16 * 1024;

/// What the line of a turn says.
struct offer_text {
    std::uint64_t place;       ///< a global address, or one of the process
    std::uint64_t is_private;  ///< the latter
    std::uint64_t is_staged;   ///< a copy, which grows
    std::uint64_t staged;      ///< what had been staged before it, ever
};

}  // namespace

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

void data_lender::offer(std::span<std::byte> data) {
    data_ = data;
    copy_ = nullptr;
    offer_text text{reinterpret_cast<std::uint64_t>(data.data()), 1, 0, staged_};
    if (has_stage()) {
        const auto inside = detail::own_address(context_, data.data(), data.size());
        text = {inside.value_or(stage_), 0, !inside.has_value(), staged_};
        if (!inside) copy_ = detail::mapped_address(context_, stage_);
    }
    numbered_line& line = own_.offers[turn_ % offer_sets];
    machine::announce_write(context_, line.bytes, sizeof text);
    std::memcpy(line.bytes, &text, sizeof text);
    machine::word_store(context_, line.number, turn_);
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
    team_block& block = members_.block(member);
    numbered_line& line = block.offers[turn_ % offer_sets];
    if (member == members_.own()) return copy_ != nullptr ? copy_ : data_.data();
    detail::await_word(context_, {line.number, turn_, machine::wait_reason::collective});
    offer_text text;
    machine::announce_read(context_, line.bytes, sizeof text);
    std::memcpy(&text, line.bytes, sizeof text);
    if (text.is_staged != 0) {
        detail::await_word(
            context_, {block.staged.word, text.staged + staged, machine::wait_reason::collective});
    }
    return text.is_private != 0 ? reinterpret_cast<const std::byte*>(text.place)
                                : detail::mapped_address(context_, text.place);
}

void data_lender::read(const std::byte* start, std::size_t bytes) {
    machine::announce_read(context_, start, bytes);
}

}  // namespace selion::collectives
