// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/link.hpp"

#include <gtest/gtest.h>

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
    EXPECT_FALSE(link.is_quiet());
    EXPECT_TRUE(link.hear(account(window_frames, 0)));
    EXPECT_TRUE(link.is_quiet());
}

TEST(link, numbers_go_round) {
    peer_link link;
    link.requests().sent = 5;
    link.requests().acked = UINT32_MAX - 5;
    EXPECT_TRUE(link.requests().has_window());
    EXPECT_TRUE(link.hear(account(UINT32_MAX, 0)));
    EXPECT_EQ(link.requests().acked, UINT32_MAX);
    EXPECT_TRUE(link.hear(account(4, 0)));
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

TEST(link, a_receiver_tells_before_the_window_closes) {
    peer_link link;
    link.requests().taken = told_after - 1;
    EXPECT_FALSE(link.is_far_behind());
    link.requests().taken = told_after;
    EXPECT_TRUE(link.is_far_behind());
    static_assert(told_after < window_frames);
}

}  // namespace
}  // namespace selion::machine::fabric
