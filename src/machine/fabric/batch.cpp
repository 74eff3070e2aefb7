// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/batch.hpp"

#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "selion/detail/rank_context.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

/// Of one frame. Operands follow, then the data, filled up to whole words.
struct batch_entry {
    std::uint16_t bytes = 0;  ///< of the data
    frame_kind kind = frame_kind::account;
    std::uint8_t flags = 0;
    std::uint16_t detail = 0;
    std::uint16_t operands = 0;  ///< so many of them are there; the others are as in a head
};
static_assert(sizeof(batch_entry) == word_bytes);

/// Of a put without a signal that begins near the end of the put before it: no operands follow, and
/// of a loop over elements a third less is sent.
struct near_entry {
    std::uint16_t bytes = 0;
    std::uint8_t kind = near_put;
    std::uint8_t flags = 0;
    std::int32_t distance = 0;  ///< from there

    static constexpr std::uint8_t near_put = 0x80;  // no `frame_kind`
};
static_assert(sizeof(near_entry) == sizeof(batch_entry));

bool is_near(std::uint64_t target, std::uint64_t end) {
    const auto distance = static_cast<std::int64_t>(target - end);
    return distance == static_cast<std::int32_t>(distance);
}

constexpr std::size_t whole_words(std::size_t bytes) {
    return (bytes + word_bytes - 1) / word_bytes * word_bytes;
}

/// How many operands a kind has; nothing: it is in no batch. A put without a signal has one.
std::optional<std::uint16_t> operands_of(frame_kind kind, bool has_signal) {
    switch (kind) {
        case frame_kind::put: return has_signal ? 3 : 1;
        case frame_kind::get:
        case frame_kind::atomic: return 4;
        case frame_kind::get_answer: return 1;
        case frame_kind::atomic_answer: return 2;
        case frame_kind::message: return 3;
        case frame_kind::account:
        case frame_kind::message_part:
        case frame_kind::lent_message:
        case frame_kind::batch: break;
    }
    return std::nullopt;
}

bool has_signal(const frame_head& head) { return head.operands[1] != detail::null_address; }

std::uint64_t bytes_asked_by(const frame_head& head) {
    return head.kind == frame_kind::get ? head.operands[3] : 0;
}

}  // namespace

bool may_be_batched(const outgoing_frame& frame) {
    const std::size_t bytes = frame.first.size() + frame.second.size();
    if (bytes > most_batched) return false;
    const frame_head& head = frame.head;
    if (head.kind == frame_kind::message) return bytes - head.operands[2] == head.operands[1];
    return operands_of(head.kind, false).has_value();
}

bool open_batch::fits(const outgoing_frame& frame) const {
    return fits(frame.first.size() + frame.second.size()) &&
           asked_bytes_ + bytes_asked_by(frame.head) <= most_following;
}

/// The data end at a whole word.
std::byte* open_batch::fill(std::byte* place) {
    const auto bytes = static_cast<std::size_t>(place - room_->data());
    for (std::size_t filled = bytes; filled % word_bytes != 0; ++filled) *place++ = std::byte{0};
    return place;
}

void open_batch::end_entry(const std::byte* place, counter* completion) {
    bytes_ = static_cast<std::size_t>(place - room_->data());
    if (completion == nullptr) return;
    completions_.push_back(completion);
    asks_ = true;
}

void open_batch::add(const outgoing_frame& frame, counter* completion) {
    const frame_head& head = frame.head;
    batch_entry entry;
    entry.bytes = static_cast<std::uint16_t>(frame.first.size() + frame.second.size());
    entry.kind = head.kind;
    entry.flags = head.flags;
    entry.detail = head.detail;
    entry.operands = *operands_of(head.kind, has_signal(head));
    std::byte* place = room_->data() + bytes_;
    std::memcpy(place, &entry, sizeof entry);
    place += sizeof entry;
    // Those beyond are overwritten by what follows.
    std::memcpy(place, head.operands, sizeof head.operands);
    place += entry.operands * word_bytes;
    if (!frame.first.empty()) std::memcpy(place, frame.first.data(), frame.first.size());
    place += frame.first.size();
    if (!frame.second.empty()) std::memcpy(place, frame.second.data(), frame.second.size());
    place += frame.second.size();
    needs_ |= needs_of(frame);
    asked_bytes_ += bytes_asked_by(head);
    put_end_ = detail::null_address;
    end_entry(fill(place), completion);
}

/// A loop over elements makes one entry. @return false: nothing has happened.
bool open_batch::lengthen_last_put(std::uint64_t target, std::span<const std::byte> data) {
    if (target != put_end_ || !last_is_whole_ || data.size() % word_bytes != 0) return false;
    static_assert(offsetof(batch_entry, bytes) == 0 && most_following <= UINT16_MAX);
    std::byte* const length = room_->data() + last_put_;
    std::uint16_t bytes = 0;
    std::memcpy(&bytes, length, sizeof bytes);
    bytes = static_cast<std::uint16_t>(bytes + data.size());
    std::memcpy(length, &bytes, sizeof bytes);
    std::memcpy(room_->data() + bytes_, data.data(), data.size());
    put_end_ += data.size();
    return true;
}

void open_batch::add_put(std::uint64_t target, std::span<const std::byte> data,
                         counter* completion) {
    if (!data.empty() && lengthen_last_put(target, data)) {
        return end_entry(room_->data() + bytes_ + data.size(), completion);
    }
    std::byte* place = room_->data() + bytes_;
    if (put_end_ != detail::null_address && is_near(target, put_end_)) {
        near_entry entry;
        entry.bytes = static_cast<std::uint16_t>(data.size());
        entry.distance = static_cast<std::int32_t>(target - put_end_);
        std::memcpy(place, &entry, sizeof entry);
        place += sizeof entry;
    } else {
        batch_entry entry;
        entry.bytes = static_cast<std::uint16_t>(data.size());
        entry.kind = frame_kind::put;
        entry.operands = 1;
        std::memcpy(place, &entry, sizeof entry);
        std::memcpy(place + sizeof entry, &target, sizeof target);
        place += sizeof entry + sizeof target;
    }
    last_put_ = bytes_;
    put_end_ = target + data.size();
    last_is_whole_ = data.size() % word_bytes == 0;
    if (data.size() == word_bytes) {
        std::memcpy(place, data.data(), word_bytes);
        place += word_bytes;
    } else if (!data.empty()) {
        std::memcpy(place, data.data(), data.size());
        place = fill(place + data.size());
    }
    needs_ |= {.quiet = true, .account = true, .effect = !data.empty()};
    end_entry(place, completion);
}

outgoing_frame open_batch::frame(bool is_reply) const {
    outgoing_frame whole;
    whole.head.kind = frame_kind::batch;
    if (is_reply) whole.head.flags |= is_reply_flag;
    if (asks_) whole.head.flags |= asks_flag;
    whole.first = {room_->data(), bytes_};
    return whole;
}

std::unique_ptr<batch_room> open_batch::end() {
    bytes_ = asked_bytes_ = 0;
    put_end_ = detail::null_address;
    needs_ = {};
    asks_ = false;
    completions_.clear();
    return std::exchange(room_, nullptr);
}

bool batch_reader::next_put(std::uint64_t& target, std::span<const std::byte>& data) {
    near_entry entry;
    if (rest_.size() < sizeof entry || batch_.is_reply()) return false;
    std::memcpy(&entry, rest_.data(), sizeof entry);
    std::size_t before_data = sizeof entry;
    if (entry.kind == near_entry::near_put) {
        if (put_end_ == detail::null_address || entry.flags != 0) return false;
        target = put_end_ + static_cast<std::uint64_t>(std::int64_t{entry.distance});
    } else {
        batch_entry full;
        std::memcpy(&full, rest_.data(), sizeof full);
        before_data += sizeof target;
        const bool is_plain = full.kind == frame_kind::put && full.operands == 1 && full.flags == 0;
        if (!is_plain || rest_.size() < before_data) return false;
        std::memcpy(&target, rest_.data() + sizeof full, sizeof target);
    }
    const std::size_t whole = before_data + whole_words(entry.bytes);
    if (rest_.size() < whole) return false;
    data = rest_.subspan(before_data, entry.bytes);
    rest_ = rest_.subspan(whole);
    put_end_ = target + entry.bytes;
    return true;
}

frame_fault batch_reader::next(frame_head& head, std::span<const std::byte>& following) {
    batch_entry entry;
    if (rest_.size() < sizeof entry) return frame_fault::length;
    std::memcpy(&entry, rest_.data(), sizeof entry);
    head = {};
    head.secret = batch_.secret;
    head.origin = batch_.origin;
    // It is taken, and told as taken, with the others.
    head.flags = batched_flag;
    head.operands[1] = detail::null_address;
    if (next_put(head.operands[0], following)) {
        head.kind = frame_kind::put;
        head.bytes = static_cast<std::uint32_t>(following.size());
        return frame_fault::none;
    }
    const auto most_operands = operands_of(entry.kind, true);
    if (!most_operands) return frame_fault::kind;
    if (entry.operands != *most_operands && entry.operands != operands_of(entry.kind, false)) {
        return frame_fault::length;
    }
    const std::size_t before_data = sizeof entry + entry.operands * word_bytes;
    if (rest_.size() < before_data + whole_words(entry.bytes)) return frame_fault::length;
    head.bytes = entry.bytes;
    head.kind = entry.kind;
    head.flags |= entry.flags;
    head.detail = entry.detail;
    put_end_ = detail::null_address;
    std::memcpy(head.operands, rest_.data() + sizeof entry, entry.operands * word_bytes);
    following = rest_.subspan(before_data, entry.bytes);
    rest_ = rest_.subspan(before_data + whole_words(entry.bytes));
    return head.is_reply() == batch_.is_reply() ? frame_fault::none : frame_fault::kind;
}

}  // namespace selion::machine::fabric
