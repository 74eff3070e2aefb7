// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "selion/detail/rank_context.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::uint64_t own = detail::global_address(1, 0);
constexpr frame_bounds bounds{
    .secret = 77, .own_rank = 1, .ranks = 4, .reserve_bytes = 4096, .most_message_bytes = 1 << 20};

frame_head head_of(frame_kind kind, std::uint8_t flags = 0) {
    frame_head head;
    head.secret = bounds.secret;
    head.origin = 2;
    head.number = 1;
    head.kind = kind;
    head.flags = flags;
    head.operands[1] = detail::null_address;
    return head;
}

frame_fault fault_of(frame_head head, std::size_t following = 0) {
    head.bytes = static_cast<std::uint32_t>(following);
    std::vector<std::byte> frame(sizeof head + following);
    std::memcpy(frame.data(), &head, sizeof head);
    frame_head seen;
    return read_frame(frame, bounds, seen);
}

TEST(wire, frames_of_other_jobs_are_told_from_mistakes) {
    frame_head head = head_of(frame_kind::account);
    EXPECT_EQ(fault_of(head), frame_fault::none);
    head.secret = 78;
    EXPECT_EQ(fault_of(head), frame_fault::foreign);
    frame_head seen;
    const std::vector<std::byte> piece(sizeof head - 1);
    EXPECT_EQ(read_frame(piece, bounds, seen), frame_fault::foreign);
    head = head_of(frame_kind::account);
    head.origin = 1;
    EXPECT_EQ(fault_of(head), frame_fault::origin);
    head.origin = 4;
    EXPECT_EQ(fault_of(head), frame_fault::origin);
}

TEST(wire, puts_stay_within_the_own_memory) {
    frame_head head = head_of(frame_kind::put);
    head.operands[0] = own | 4088;
    EXPECT_EQ(fault_of(head, 8), frame_fault::none);
    EXPECT_EQ(fault_of(head, 9), frame_fault::address);
    head.operands[0] = (own << 1) | 8;
    EXPECT_EQ(fault_of(head, 8), frame_fault::address);
    head.operands[0] = own | detail::offset_mask;
    EXPECT_EQ(fault_of(head, 8), frame_fault::address);
    head.operands[0] = own;
    head.operands[1] = own | 8;
    EXPECT_EQ(fault_of(head, 8), frame_fault::signal);
    head.operands[1] = own | 4080;
    EXPECT_EQ(fault_of(head, 8), frame_fault::none);
    head.operands[1] = own | 4096;
    EXPECT_EQ(fault_of(head, 8), frame_fault::signal);
}

TEST(wire, gets_ask_for_what_fits_into_an_answer) {
    frame_head head = head_of(frame_kind::get);
    head.operands[0] = own;
    head.operands[3] = 4096;
    EXPECT_EQ(fault_of(head), frame_fault::none);
    head.operands[3] = 4097;
    EXPECT_EQ(fault_of(head), frame_fault::address);
    head.operands[3] = most_following + 1;
    EXPECT_EQ(fault_of(head), frame_fault::length);
}

TEST(wire, atomics_come_over_as_they_are) {
    using enum detail::atomic_operation;
    for (const auto operation : {load, store, swap, compare_swap, add, bit_or, bit_and, bit_xor,
                                 detail::atomic_operation::min, detail::atomic_operation::max}) {
        const detail::atomic_request sent{.target = own | 8,
                                          .operand = 5,
                                          .compare = 6,
                                          .operation = operation,
                                          .width = 4,
                                          .kind = detail::element_kind::signed_integer,
                                          .fetches = operation != store};
        frame_head head = head_of(frame_kind::atomic);
        head.detail = encode_atomic(sent);
        head.operands[0] = sent.target;
        EXPECT_EQ(fault_of(head), frame_fault::none);
        const auto seen = decode_atomic(head);
        ASSERT_TRUE(seen.has_value());
        EXPECT_EQ(seen->operation, sent.operation);
        EXPECT_EQ(seen->width, 4);
        EXPECT_EQ(seen->kind, sent.kind);
        EXPECT_EQ(seen->fetches, sent.fetches);
    }
    frame_head head = head_of(frame_kind::atomic);
    head.operands[0] = own | 8;
    head.detail = 10 | 8 << 4;
    EXPECT_EQ(fault_of(head), frame_fault::operation);
    head.detail = 4 | 7 << 4;
    EXPECT_EQ(fault_of(head), frame_fault::operation);
    head.detail = 4 | 8 << 4;
    head.operands[0] = own | 12;
    EXPECT_EQ(fault_of(head), frame_fault::address);
}

TEST(wire, lengths_of_messages_agree) {
    frame_head head = head_of(frame_kind::message, is_reply_flag);
    head.operands[1] = 100;
    head.operands[2] = 16;
    EXPECT_EQ(fault_of(head, 116), frame_fault::none);
    EXPECT_EQ(fault_of(head, 117), frame_fault::length);
    EXPECT_EQ(fault_of(head, 15), frame_fault::length);
    head.operands[2] = 88;
    EXPECT_EQ(fault_of(head, 100), frame_fault::length);
    head.operands[1] = bounds.most_message_bytes + 1;
    head.operands[2] = 0;
    EXPECT_EQ(fault_of(head, 10), frame_fault::length);
}

TEST(wire, a_lent_message_tells_where_its_data_are) {
    frame_head head = head_of(frame_kind::lent_message, is_reply_flag);
    head.operands[1] = bounds.most_message_bytes;
    head.operands[2] = 16;
    EXPECT_EQ(fault_of(head, 16 + sizeof(lent_place)), frame_fault::none);
    EXPECT_EQ(fault_of(head, 16), frame_fault::length);
    EXPECT_EQ(fault_of(head, 17 + sizeof(lent_place)), frame_fault::length);
    head.operands[1] = bounds.most_message_bytes + 1;
    EXPECT_EQ(fault_of(head, 16 + sizeof(lent_place)), frame_fault::length);
    head.operands[1] = 0;
    EXPECT_EQ(fault_of(head, 16 + sizeof(lent_place)), frame_fault::length);
}

TEST(wire, kinds_and_flags_that_do_not_exist_are_refused) {
    EXPECT_EQ(fault_of(head_of(static_cast<frame_kind>(10))), frame_fault::kind);
    EXPECT_EQ(fault_of(head_of(frame_kind::account, 8)), frame_fault::kind);
    EXPECT_EQ(fault_of(head_of(frame_kind::put, is_reply_flag)), frame_fault::kind);
    EXPECT_EQ(fault_of(head_of(frame_kind::atomic_answer)), frame_fault::kind);
}

}  // namespace
}  // namespace selion::machine::fabric
