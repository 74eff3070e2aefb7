// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "selion/counter.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine::fabric {
namespace {

outgoing_frame frame_of(frame_kind kind, std::span<const std::byte> first = {},
                        std::span<const std::byte> second = {}) {
    outgoing_frame frame;
    frame.head.kind = kind;
    frame.head.operands[0] = 11;
    frame.head.operands[1] = detail::null_address;
    frame.first = first;
    frame.second = second;
    return frame;
}

open_batch new_batch() {
    open_batch batch;
    batch.begin(std::make_unique<batch_room>(), 7);
    return batch;
}

std::vector<std::byte> bytes_of(std::size_t count) {
    std::vector<std::byte> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::byte>(i + 1);
    return all;
}

TEST(batch, frames_come_out_as_they_went_in) {
    open_batch batch = new_batch();
    EXPECT_TRUE(batch.is_empty());
    const std::vector<std::byte> data = bytes_of(13);
    const std::span<const std::byte> all(data);
    outgoing_frame message = frame_of(frame_kind::message, all.first(8), all.subspan(8));
    message.head.detail = 3;
    message.head.operands[1] = 5;
    message.head.operands[2] = 8;
    outgoing_frame signal = frame_of(frame_kind::put);
    signal.head.operands[1] = 32;
    signal.head.operands[2] = 9;
    signal.head.flags = adds_flag;
    outgoing_frame atomic = frame_of(frame_kind::atomic);
    atomic.head.operands[3] = 77;
    batch.add(frame_of(frame_kind::put, all), nullptr);
    batch.add(message, nullptr);
    batch.add(signal, nullptr);
    batch.add(atomic, nullptr);
    EXPECT_EQ(batch.begun(), 7u);

    outgoing_frame whole = batch.frame(false);
    whole.head.origin = 2;
    EXPECT_EQ(whole.head.kind, frame_kind::batch);
    EXPECT_FALSE(whole.head.asks());
    batch_reader reader(whole.head, whole.first);
    frame_head head;
    std::span<const std::byte> following;
    for (const outgoing_frame& sent : {frame_of(frame_kind::put, all), message, signal, atomic}) {
        ASSERT_FALSE(reader.is_over());
        ASSERT_EQ(reader.next(head, following), frame_fault::none);
        EXPECT_EQ(head.origin, 2u);
        EXPECT_EQ(head.kind, sent.head.kind);
        EXPECT_EQ(head.flags, sent.head.flags | batched_flag);
        EXPECT_EQ(head.detail, sent.head.detail);
        EXPECT_TRUE(head.is_batched());
        EXPECT_TRUE(std::ranges::equal(head.operands, sent.head.operands));
        EXPECT_EQ(following.size(), sent.first.size() + sent.second.size());
        EXPECT_TRUE(std::ranges::equal(following, all.first(following.size())));
    }
    EXPECT_TRUE(reader.is_over());
    EXPECT_NE(batch.end(), nullptr);
    EXPECT_TRUE(batch.is_empty());
}

TEST(batch, is_full_before_its_room_is) {
    open_batch batch = new_batch();
    const std::vector<std::byte> data = bytes_of(8);
    const outgoing_frame put = frame_of(frame_kind::put, data);
    std::size_t count = 0;
    for (; batch.fits(data.size()); ++count) batch.add(put, nullptr);
    EXPECT_EQ(count, most_following / 24 - 2);  // any other frame would fit, too
    const outgoing_frame whole = batch.frame(false);
    EXPECT_LE(whole.first.size(), most_following);
    frame_head head;
    std::span<const std::byte> following;
    std::size_t found = 0;
    for (batch_reader reader(whole.head, whole.first); !reader.is_over(); ++found) {
        ASSERT_EQ(reader.next(head, following), frame_fault::none);
    }
    EXPECT_EQ(found, count);
}

TEST(batch, puts_that_follow_each_other_in_memory_are_one) {
    const std::vector<std::byte> data = bytes_of(64);
    const std::span<const std::byte> all(data);
    open_batch batch = new_batch();
    batch.add_put(80, all.first(8), nullptr);
    batch.add_put(88, all.subspan(8, 16), nullptr);
    batch.add_put(104, all.subspan(24, 8), nullptr);
    batch.add_put(104, all.subspan(24, 8), nullptr);  // the same place again: one of its own
    batch.add_put(112, {}, nullptr);
    batch.add_put(112, all.subspan(32, 3), nullptr);
    batch.add_put(115, all.subspan(35, 8), nullptr);  // behind what is no whole word
    batch.add(frame_of(frame_kind::atomic), nullptr);
    batch.add_put(123, all.subspan(43, 8), nullptr);  // behind another operation
    struct put {
        std::uint64_t target;
        std::span<const std::byte> data;
    };
    const put before[] = {{80, all.first(32)},
                          {104, all.subspan(24, 8)},
                          {112, {}},
                          {112, all.subspan(32, 3)},
                          {115, all.subspan(35, 8)}};
    const outgoing_frame whole = batch.frame(false);
    batch_reader reader(whole.head, whole.first);
    std::uint64_t target = 0;
    std::span<const std::byte> found;
    for (const put& each : before) {
        ASSERT_TRUE(reader.next_put(target, found));
        EXPECT_EQ(target, each.target);
        EXPECT_TRUE(std::ranges::equal(found, each.data));
    }
    EXPECT_FALSE(reader.next_put(target, found));
    frame_head head;
    ASSERT_EQ(reader.next(head, found), frame_fault::none);
    EXPECT_EQ(head.kind, frame_kind::atomic);
    ASSERT_TRUE(reader.next_put(target, found));
    EXPECT_EQ(target, 123u);
    EXPECT_TRUE(reader.is_over());
    EXPECT_FALSE(reader.next_put(target, found));
}

TEST(batch, puts_near_each_other_tell_how_far_that_is) {
    constexpr std::uint64_t base = std::uint64_t{3} << 40;
    constexpr std::uint64_t far = std::uint64_t{1} << 31;
    const std::uint64_t targets[] = {base,       base,           base - 4096,    base + 4096,
                                     base + far, base + 3 * far, base + 2 * far, base + 1};
    const std::vector<std::byte> data = bytes_of(8);
    open_batch batch = new_batch();
    for (const std::uint64_t target : targets) batch.add_put(target, data, nullptr);
    const outgoing_frame whole = batch.frame(false);
    EXPECT_EQ(whole.first.size(), 4 * 24 + 4 * 16u);  // the first, and the last three
    batch_reader reader(whole.head, whole.first);
    batch_reader other(whole.head, whole.first);
    frame_head head;
    std::span<const std::byte> found;
    for (const std::uint64_t target : targets) {
        std::uint64_t place = 0;
        ASSERT_TRUE(reader.next_put(place, found));
        EXPECT_EQ(place, target);
        EXPECT_TRUE(std::ranges::equal(found, data));
        ASSERT_EQ(other.next(head, found), frame_fault::none);
        EXPECT_EQ(head.kind, frame_kind::put);
        EXPECT_EQ(head.operands[0], target);
        EXPECT_EQ(head.operands[1], detail::null_address);
        EXPECT_EQ(head.bytes, 8u);
        EXPECT_TRUE(head.is_batched());
    }
    EXPECT_TRUE(reader.is_over() && other.is_over());
}

TEST(batch, a_put_near_nothing_is_a_fault) {
    const std::vector<std::byte> data = bytes_of(8);
    open_batch batch = new_batch();
    batch.add_put(80, data, nullptr);
    batch.add_put(800, data, nullptr);
    const outgoing_frame whole = batch.frame(false);
    batch_reader reader(whole.head, whole.first.subspan(24));
    std::uint64_t target = 0;
    frame_head head;
    std::span<const std::byte> found;
    EXPECT_FALSE(reader.next_put(target, found));
    EXPECT_EQ(reader.next(head, found), frame_fault::kind);
}

TEST(batch, a_put_that_was_cut_off_is_not_taken) {
    const std::vector<std::byte> data = bytes_of(16);
    open_batch batch = new_batch();
    batch.add_put(80, data, nullptr);
    const outgoing_frame whole = batch.frame(false);
    std::uint64_t target = 0;
    std::span<const std::byte> found;
    for (std::size_t bytes = 0; bytes < whole.first.size(); ++bytes) {
        batch_reader reader(whole.head, whole.first.first(bytes));
        EXPECT_FALSE(reader.next_put(target, found));
    }
}

TEST(batch, asks_for_as_much_as_one_frame_brings) {
    open_batch batch = new_batch();
    outgoing_frame get = frame_of(frame_kind::get);
    get.head.operands[3] = most_following;
    EXPECT_TRUE(batch.fits(get));
    get.head.operands[3] = most_following / 3;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(batch.fits(get));
        batch.add(get, nullptr);
    }
    EXPECT_FALSE(batch.fits(get));
    EXPECT_TRUE(batch.fits(frame_of(frame_kind::put)));
    batch.begin(batch.end(), 8);
    EXPECT_TRUE(batch.fits(get));
}

TEST(batch, plain_puts_are_the_same_either_way) {
    const std::vector<std::byte> data = bytes_of(13);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, data.size()}) {
        const std::span<const std::byte> part = std::span(data).first(bytes);
        counter done;
        open_batch one = new_batch();
        open_batch other = new_batch();
        one.add(frame_of(frame_kind::put, part), &done);
        other.add_put(11, part, &done);
        EXPECT_TRUE(std::ranges::equal(one.frame(false).first, other.frame(false).first));
        EXPECT_TRUE(other.frame(false).head.asks());
        EXPECT_EQ(other.completions().size(), 1u);
        EXPECT_EQ(one.needs().effect, other.needs().effect);
        EXPECT_TRUE(other.needs().account && other.needs().quiet);
    }
}

TEST(batch, long_frames_and_parts_of_messages_leave_alone) {
    const std::vector<std::byte> data = bytes_of(1025);
    const std::span<const std::byte> all(data);
    EXPECT_TRUE(may_be_batched(frame_of(frame_kind::put, all.first(1024))));
    EXPECT_FALSE(may_be_batched(frame_of(frame_kind::put, all)));
    EXPECT_FALSE(may_be_batched(frame_of(frame_kind::message_part, all.first(8))));
    EXPECT_FALSE(may_be_batched(frame_of(frame_kind::account)));
    EXPECT_FALSE(may_be_batched(frame_of(frame_kind::batch, all.first(8))));
    outgoing_frame message = frame_of(frame_kind::message, {}, all.first(8));
    message.head.operands[1] = 8;
    EXPECT_TRUE(may_be_batched(message));
    message.head.operands[1] = 9;  // the rest comes in parts
    EXPECT_FALSE(may_be_batched(message));
}

TEST(batch, needs_what_one_of_its_frames_needs) {
    const std::vector<std::byte> data = bytes_of(8);
    outgoing_frame signal = frame_of(frame_kind::put);
    signal.is_fleeting = true;
    open_batch batch = new_batch();
    batch.add(signal, nullptr);
    EXPECT_FALSE(batch.needs().quiet || batch.needs().account || batch.needs().effect);
    outgoing_frame fetching = frame_of(frame_kind::atomic);
    fetching.head.operands[3] = 5;
    batch.add(fetching, nullptr);
    EXPECT_TRUE(batch.needs().quiet && batch.needs().effect);
    EXPECT_FALSE(batch.needs().account);
    batch.add(frame_of(frame_kind::put, data), nullptr);
    EXPECT_TRUE(batch.needs().account);
    EXPECT_FALSE(batch.frame(false).head.asks());
    counter done;
    batch.add(frame_of(frame_kind::put, data), &done);
    EXPECT_TRUE(batch.frame(false).head.asks());
    ASSERT_EQ(batch.completions().size(), 1u);
    EXPECT_EQ(batch.completions()[0], &done);
}

frame_fault fault_of(std::span<const std::byte> bytes, std::uint8_t flags = 0) {
    frame_head whole;
    whole.kind = frame_kind::batch;
    whole.flags = flags;
    batch_reader reader(whole, bytes);
    frame_head head;
    std::span<const std::byte> following;
    frame_fault fault = frame_fault::none;
    while (fault == frame_fault::none && !reader.is_over()) fault = reader.next(head, following);
    return fault;
}

TEST(batch, bytes_that_are_no_frames_are_refused) {
    open_batch batch = new_batch();
    const std::vector<std::byte> data = bytes_of(8);
    batch.add(frame_of(frame_kind::put, data), nullptr);
    const std::span<const std::byte> sound = batch.frame(false).first;
    ASSERT_EQ(sound.size(), 24u);
    EXPECT_EQ(fault_of(sound), frame_fault::none);
    EXPECT_EQ(fault_of(sound, is_reply_flag), frame_fault::kind);
    for (std::size_t bytes = 1; bytes < sound.size(); ++bytes) {
        EXPECT_EQ(fault_of(sound.first(bytes)), frame_fault::length) << bytes;
    }
    const auto with = [&](std::size_t place, std::uint8_t value) {
        std::vector<std::byte> changed(sound.begin(), sound.end());
        changed[place] = std::byte{value};
        return fault_of(changed);
    };
    EXPECT_EQ(with(0, 9), frame_fault::length);  // data beyond the end
    EXPECT_EQ(with(2, static_cast<std::uint8_t>(frame_kind::batch)), frame_fault::kind);
    EXPECT_EQ(with(2, 200), frame_fault::kind);
    EXPECT_EQ(with(6, 2), frame_fault::length);  // operands
}

}  // namespace
}  // namespace selion::machine::fabric
