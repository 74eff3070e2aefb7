// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/link.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>

#include "selion/detail/rank_context.hpp"

namespace selion::machine::fabric {
namespace {

frame_head account(std::uint32_t requests, std::uint32_t replies) {
    frame_head head;
    head.requests_taken = requests;
    head.replies_taken = replies;
    return head;
}

TEST(link, a_window_opens_as_frames_are_taken) {
    peer_link link;
    link.requests().sent = window_frames;
    EXPECT_FALSE(link.requests().has_window());
    EXPECT_TRUE(link.hear(account(1, 0)));
    EXPECT_TRUE(link.requests().has_window());
    EXPECT_TRUE(link.replies().has_window());
    link.requests().wanted = window_frames;
    EXPECT_FALSE(link.is_quiet());
    EXPECT_TRUE(link.hear(account(window_frames, 0)));
    EXPECT_TRUE(link.is_quiet());
}

TEST(link, who_moves_memory_wants_something_of_the_peer) {
    peer_link link;
    EXPECT_FALSE(link.is_owed());
    link.reads = 1;
    EXPECT_TRUE(link.is_owed());
    link.reads = 0;
    link.writes = 1;
    EXPECT_TRUE(link.is_owed());
}

TEST(link, quiet_does_not_wait_for_fleeting_frames) {
    peer_link link;
    link.requests().sent = 3;
    link.requests().wanted = 2;
    EXPECT_FALSE(link.is_quiet());
    EXPECT_EQ(link.requests().goal(), 2u);
    EXPECT_TRUE(link.hear(account(2, 0)));
    EXPECT_TRUE(link.is_quiet());
    EXPECT_TRUE(link.hear(account(3, 0)));
    EXPECT_EQ(link.requests().wanted, 3u);
    link.requests().queue.resize(2);
    EXPECT_FALSE(link.is_quiet());
    EXPECT_EQ(link.requests().goal(), 5u);
}

TEST(link, numbers_go_round) {
    peer_link link;
    for (std::uint32_t taken = 0; taken != 4;) {
        taken += 1u << 30;
        link.requests().sent = taken + 5;
        EXPECT_TRUE(link.hear(account(taken, 0)));
        EXPECT_EQ(link.requests().acked, taken);
        if (taken != 0) continue;
        EXPECT_TRUE(link.hear(account(taken = 4, 0)));
    }
    EXPECT_EQ(link.requests().acked, 4u);
    EXPECT_TRUE(link.hear(account(2, 0)));  // an older one says nothing new
    EXPECT_EQ(link.requests().acked, 4u);
}

TEST(link, an_account_of_frames_that_were_never_sent_is_refused) {
    peer_link link;
    link.requests().sent = 5;
    EXPECT_FALSE(link.hear(account(6, 0)));
    EXPECT_FALSE(link.hear(account(0, 1)));
}

TEST(link, an_account_that_overtakes_replies_waits_for_them) {
    peer_link link;
    link.requests().sent = 5;
    frame_head head = account(5, 0);
    head.replies_sent = 2;
    EXPECT_TRUE(link.hear(head));
    EXPECT_EQ(link.requests().acked, 0u);
    link.replies().taken = 1;
    link.believe();
    EXPECT_EQ(link.requests().acked, 0u);
    link.replies().taken = 2;
    link.believe();
    EXPECT_EQ(link.requests().acked, 5u);
}

TEST(link, requests_are_not_told_while_a_reply_waits) {
    peer_link link;
    link.requests().taken = 3;
    link.replies().taken = 2;
    link.replies().queue.emplace_back();
    frame_head head;
    link.tell(head);
    EXPECT_EQ(head.requests_taken, 0u);
    EXPECT_EQ(head.replies_taken, 2u);
    link.owes_account = true;
    link.note_told(head);
    EXPECT_TRUE(link.owes_account);
    link.replies().queue.clear();
    link.tell(head);
    EXPECT_EQ(head.requests_taken, 3u);
    link.note_told(head);
    EXPECT_FALSE(link.owes_account);
}

outgoing_frame put_frame(std::span<const std::byte> data) {
    outgoing_frame frame;
    frame.head.kind = frame_kind::put;
    frame.head.operands[1] = detail::null_address;
    frame.first = data;
    return frame;
}

TEST(link, what_is_owed_is_not_told_again_and_again_while_a_reply_waits) {
    peer_link link;
    link.requests().taken = 3;
    link.owes_account = true;
    EXPECT_TRUE(link.can_tell_more());
    link.replies().queue.resize(1);
    EXPECT_FALSE(link.can_tell_more());
    link.replies().taken = told_after;  // of those it can tell
    EXPECT_TRUE(link.can_tell_more());
    link.replies().told = told_after;
    link.replies().queue.clear();
    EXPECT_TRUE(link.can_tell_more());
}

TEST(link, quiet_waits_for_what_is_in_a_batch) {
    peer_link link;
    class_account& requests = link.requests();
    requests.queue.resize(2);
    const std::array<std::byte, 8> data{};
    requests.batch.begin(std::make_unique<batch_room>(), 0);
    requests.batch.add(put_frame(data), nullptr);
    EXPECT_FALSE(link.is_quiet());
    EXPECT_TRUE(link.is_owed());
    EXPECT_EQ(requests.goal(), 3u);
    requests.queue.clear();
    EXPECT_TRUE(link.has_waiting());
    EXPECT_EQ(requests.goal(), 1u);
    requests.batch.end();
    EXPECT_TRUE(link.is_quiet());
    EXPECT_EQ(requests.goal(), 0u);
}

TEST(link, a_batch_of_replies_tells_what_no_other_frame_may_before_it) {
    peer_link link;
    link.requests().taken = 3;
    class_account& replies = link.replies();
    const std::array<std::byte, 8> data{};
    replies.batch.begin(std::make_unique<batch_room>(), 0);
    outgoing_frame answer = put_frame(data);
    answer.head.kind = frame_kind::get_answer;
    answer.head.flags = is_reply_flag;
    replies.batch.add(answer, nullptr);
    frame_head other;
    link.tell(other);
    EXPECT_EQ(other.requests_taken, 0u);
    frame_head whole = replies.batch.frame(true).head;
    link.tell(whole);
    EXPECT_EQ(whole.requests_taken, 3u);
    // One that waits in the queue has others behind it.
    replies.queue.emplace_back();
    link.tell(whole);
    EXPECT_EQ(whole.requests_taken, 0u);
}

TEST(link, a_reply_waits_for_requests_that_were_sent_before_it) {
    peer_link link;
    link.requests().taken = 3;
    frame_head reply;
    reply.kind = frame_kind::message;
    reply.flags = is_reply_flag;
    reply.number = 1;
    reply.follows = 5;
    EXPECT_EQ(link.turn_of(reply), turn::later);
    link.requests().taken = 5;
    EXPECT_EQ(link.turn_of(reply), turn::now);
    reply.follows = 0xffff'fff0;  // long ago, as numbers go round
    EXPECT_EQ(link.turn_of(reply), turn::now);
    reply.follows = 6 + most_ahead;
    EXPECT_EQ(link.turn_of(reply), turn::never);
    reply.kind = frame_kind::get_answer;  // which was made at the request's turn
    EXPECT_EQ(link.turn_of(reply), turn::now);
    frame_head request;
    request.kind = frame_kind::put;
    request.number = 6;
    request.follows = 6 + most_ahead;
    EXPECT_EQ(link.turn_of(request), turn::now);
}

TEST(link, a_frame_has_its_turn) {
    class_account account;
    account.taken = UINT32_MAX - 1;
    EXPECT_EQ(account.turn_of(UINT32_MAX - 1), turn::over);
    EXPECT_EQ(account.turn_of(UINT32_MAX), turn::now);
    EXPECT_EQ(account.turn_of(0), turn::later);
    EXPECT_EQ(account.turn_of(most_ahead - 2), turn::later);
    EXPECT_EQ(account.turn_of(most_ahead - 1), turn::never);
    EXPECT_EQ(account.turn_of(UINT32_MAX - 1 - most_ahead), turn::over);
}

TEST(link, a_receiver_tells_before_the_window_closes) {
    peer_link link;
    link.requests().taken = told_after - 1;
    EXPECT_FALSE(link.is_far_behind());
    link.requests().taken = told_after;
    EXPECT_TRUE(link.is_far_behind());
    static_assert(told_after < window_frames);
}

TEST(link, a_reply_counts_itself_so_that_its_request_is_taken_with_it) {
    peer_link answering;
    answering.requests().taken = 1;
    frame_head head;
    head.flags = is_reply_flag;
    answering.tell(head);
    EXPECT_EQ(head.replies_sent, 1u);
    peer_link asking;
    asking.requests().sent = 1;
    EXPECT_TRUE(asking.hear(head));
    EXPECT_EQ(asking.requests().acked, 0u);
    asking.replies().taken = 1;
    asking.believe();
    EXPECT_EQ(asking.requests().acked, 1u);
}

TEST(link, a_question_is_answered_when_what_it_is_about_was_taken) {
    peer_link link;
    link.requests().taken = 4;
    frame_head question;
    question.number = 5;
    question.replies_sent = 1;
    link.hear_question(question);
    EXPECT_FALSE(link.owes_account);
    link.requests().taken = 5;
    link.look_at_question();
    EXPECT_FALSE(link.owes_account);
    link.replies().taken = 1;
    link.look_at_question();
    EXPECT_TRUE(link.owes_account);
    link.owes_account = false;
    link.look_at_question();
    EXPECT_FALSE(link.owes_account);
}

}  // namespace
}  // namespace selion::machine::fabric
