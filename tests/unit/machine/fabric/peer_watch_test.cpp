// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/peer_watch.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>

namespace selion::machine::fabric {
namespace {

TEST(heartbeat, is_dead_once_four_questions_have_no_answer) {
    heartbeat beat;
    EXPECT_FALSE(beat.begin_period());  // asks the first time
    for (int i = 0; i < heartbeat::most_missed - 1; ++i) EXPECT_FALSE(beat.begin_period());
    EXPECT_TRUE(beat.begin_period());
}

TEST(heartbeat, an_answer_starts_the_count_again) {
    heartbeat beat;
    beat.begin_period();
    for (int i = 0; i < 100; ++i) {
        for (int missed = 0; missed < heartbeat::most_missed - 1; ++missed) {
            EXPECT_FALSE(beat.begin_period());
        }
        beat.is_answered = true;
        EXPECT_FALSE(beat.begin_period());
    }
}

using ranks = std::vector<std::uint32_t>;

/// Two ranks on each host, as neighbours.
std::string by_twos(std::uint32_t rank) { return std::to_string(rank / 2); }

TEST(choose_asked, is_the_next_host_where_nobody_owes_anything) {
    EXPECT_EQ(choose_asked(0, 6, {}, {}, by_twos), ranks{2});
    EXPECT_EQ(choose_asked(1, 6, {}, {}, by_twos), ranks{2});
    EXPECT_EQ(choose_asked(5, 6, {}, {}, by_twos), ranks{0});
    EXPECT_EQ(choose_asked(0, 2, {}, {}, by_twos), ranks{});
}

TEST(choose_asked, is_one_debtor_of_each_other_host) {
    const ranks debtors{1, 2, 3, 6, 7};
    EXPECT_EQ(choose_asked(0, 8, debtors, {}, by_twos), (ranks{2, 6}));
    const ranks asked{2, 7};
    EXPECT_EQ(choose_asked(0, 8, debtors, asked, by_twos), (ranks{2, 7}));
    const ranks paid{5};
    EXPECT_EQ(choose_asked(0, 8, debtors, paid, by_twos), (ranks{2, 6}));
}

std::vector<std::byte> loopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(1);  // of another socket
    const auto* const first = reinterpret_cast<const std::byte*>(&address);
    return {first, first + sizeof address};
}

/// Ranks in one process, each of which asks the next one.
struct ring {
    static constexpr std::int64_t period_ns = 1'000'000;
    struct found_silent {
        std::uint32_t rank;
        std::uint32_t teller;
        bool operator==(const found_silent&) const = default;
    };

    explicit ring(std::uint32_t count, std::uint64_t odd_secret = 1, bool listen = true)
        : found(count), barred(count) {
        for (std::uint32_t i = 0; i < count; ++i) sockets.emplace_back(loopback(), listen);
        for (std::uint32_t i = 0; i < count; ++i) {
            members.emplace_back(
                sockets[i], peer_watch::surroundings{
                                .secret = i == 1 ? odd_secret : 1,
                                .own_process = i,
                                .processes = count,
                                .timeout_ns = heartbeat::periods * period_ns,
                                .whom_to_ask = [=](auto) { return ranks{(i + 1) % count}; },
                                .address_of = [this](auto rank) { return sockets[rank].name(); },
                                .on_silence =
                                    [this, i](auto rank, const std::string&, auto teller) {
                                        if (!found[i]) found[i] = {rank, teller};
                                    },
                                .on_barred =
                                    [this, i](auto rank, const std::string& why) {
                                        barred[i].push_back({rank, why});
                                    }});
        }
    }
    /// What comes is there before the next period: loopback delivers within the call that sends.
    void live(int periods, std::optional<std::uint32_t> dead = {}) {
        for (int i = 0; i < periods; ++i) {
            now_ns += period_ns;
            for (int look = 0; look < 3; ++look) {
                for (std::uint32_t one = 0; one < members.size(); ++one) {
                    if (one != dead) members[one].look(now_ns);
                }
            }
        }
    }

    std::int64_t now_ns = 1;
    std::deque<pulse_socket> sockets;
    std::deque<peer_watch> members;
    std::vector<std::optional<found_silent>> found;
    std::vector<std::vector<std::pair<std::uint32_t, std::string>>> barred;
};

TEST(peer_watch, who_answers_lives) {
    ring all(3);
    all.live(20);
    for (const auto& one : all.found) EXPECT_FALSE(one);
    for (const auto& one : all.barred) EXPECT_TRUE(one.empty());
    for (const auto& member : all.members) EXPECT_EQ(member.strange(), 0u);
}

TEST(peer_watch, one_that_answers_and_takes_no_connection_is_barred) {
    ring all(2, 1, false);
    all.live(way_probe::most_missed);
    EXPECT_TRUE(all.barred[0].empty());
    all.live(1);
    ASSERT_EQ(all.barred[0].size(), 1u);
    EXPECT_EQ(all.barred[0][0], (std::pair{1u, std::string("Connection refused")}));
}

TEST(peer_watch, datagrams_of_other_lengths_are_counted) {
    ring all(2);
    const std::vector<std::byte> where = all.sockets[1].name();
    const pulse right{.secret = 1, .origin = 0, .what = pulse::kind::question};
    std::array<std::byte, sizeof right + 1> sent{};
    std::memcpy(sent.data(), &right, sizeof right);
    for (const std::size_t bytes : {std::size_t{0}, sizeof right - 1, sizeof right + 1}) {
        sendto(all.sockets[0].file(), sent.data(), bytes, 0,
               reinterpret_cast<const sockaddr*>(where.data()),
               static_cast<socklen_t>(where.size()));
    }
    all.live(3);
    EXPECT_EQ(all.members[1].strange(), 3u);
    EXPECT_EQ(all.members[0].strange(), 0u);
}

TEST(peer_watch, all_hear_of_one_that_is_silent_at_once) {
    ring all(4);
    all.live(3);
    all.live(heartbeat::periods - 1, 2);
    for (const auto& one : all.found) EXPECT_FALSE(one);
    all.live(1, 2);
    EXPECT_EQ(all.found[1], (ring::found_silent{2, 1}));
    EXPECT_EQ(all.found[0], (ring::found_silent{2, 1}));
    EXPECT_TRUE(all.found[3]);
    EXPECT_EQ(all.found[3]->rank, 2u);
}

TEST(peer_watch, pulses_of_another_secret_are_not_minded) {
    ring all(2, 7);
    all.live(heartbeat::periods + 1);
    EXPECT_EQ(all.found[0], (ring::found_silent{1, 0}));
    EXPECT_EQ(all.found[1], (ring::found_silent{0, 1}));
    for (const auto& member : all.members) EXPECT_GE(member.strange(), 1u);
}

TEST(peer_watch, pulses_about_processes_that_are_none_are_not_minded) {
    ring all(2);
    const std::vector<std::byte> where = all.sockets[1].name();
    for (const auto& [origin, subject] : {std::pair{0u, 500u}, {500u, 0u}, {0u, 0x10000000u}}) {
        for (const pulse::kind what :
             {pulse::kind::question, pulse::kind::end, pulse::kind::death}) {
            const pulse odd{.secret = 1, .origin = origin, .what = what, .subject = subject};
            const auto* const to = reinterpret_cast<const sockaddr*>(where.data());
            ASSERT_EQ(sendto(all.sockets[0].file(), &odd, sizeof odd, 0, to,
                             static_cast<socklen_t>(where.size())),
                      ssize_t{sizeof odd});
        }
    }
    all.live(heartbeat::periods + 1);
    EXPECT_FALSE(all.found[0]);
    EXPECT_FALSE(all.found[1]);
}

/// The same where the job outlives the dead, two on each host.
struct mortal_ring : ring {
    explicit mortal_ring(std::uint32_t count) : ring(count), known(count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto hear = [this, i](std::uint32_t dead) {
                if (std::ranges::find(known[i], dead) == known[i].end()) known[i].push_back(dead);
            };
            members[i].hear_of_deaths(
                {.all_dead = [this, i] { return known[i]; },
                 .on_death = hear,
                 .on_silence = [hear](auto dead, const std::string&) { hear(dead); },
                 .all_beside = [](auto one) { return ranks{one / 2 * 2, one / 2 * 2 + 1}; }});
        }
    }
    std::vector<ranks> known;
};

TEST(peer_watch, all_hear_of_a_death_that_one_knows_of) {
    mortal_ring all(4);
    all.live(2);
    all.known[2].push_back(3);
    all.live(1, 3);
    for (const std::uint32_t one : {0u, 1u, 2u}) EXPECT_EQ(all.known[one], ranks{3}) << one;
}

TEST(peer_watch, what_was_lost_is_told_with_the_next_question) {
    mortal_ring all(4);
    all.known[0] = {3};
    all.known[2] = {1};
    all.members[0].look(1);  // nobody has asked yet, so nobody hears
    all.members[2].look(1);
    all.live(2);
    EXPECT_EQ(all.known[0], (ranks{3, 1}));
    EXPECT_EQ(all.known[2], (ranks{1, 3}));
}

TEST(peer_watch, who_is_taken_for_dead_hears_of_it) {
    mortal_ring all(2);
    all.known[0] = {1};
    all.live(2);
    EXPECT_EQ(all.known[1], ranks{1});
}

TEST(peer_watch, a_host_that_is_silent_is_dead_as_a_whole_within_the_bound) {
    mortal_ring all(4);
    all.live(3);
    // Only 2 is asked, by 1; its host has 3 as well.
    for (int i = 0; i < heartbeat::periods; ++i) {
        EXPECT_TRUE(all.known[1].empty());
        all.now_ns += ring::period_ns;
        for (int look = 0; look < 3; ++look) {
            all.members[0].look(all.now_ns);
            all.members[1].look(all.now_ns);
        }
    }
    EXPECT_EQ(all.known[1], (ranks{2, 3}));
    EXPECT_EQ(all.known[0], (ranks{2, 3}));
}

}  // namespace
}  // namespace selion::machine::fabric
