// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/way_probe.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "machine/fabric/peer_watch.hpp"

namespace selion::machine::fabric {
namespace {

std::vector<std::byte> on_loopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* const first = reinterpret_cast<const std::byte*>(&address);
    return {first, first + sizeof address};
}

/// Until it is decided; over loopback that is at once.
bool is_barred(way_probe& probe, const socket_place& from, const socket_place& to) {
    for (int period = 0; period <= way_probe::most_missed; ++period) {
        if (probe.begin_period(from.without_port(), to)) return true;
        if (probe.is_open()) return false;
        poll(nullptr, 0, 1);
    }
    return false;
}

TEST(way_probe, is_open_where_somebody_listens_who_never_looks) {
    const pulse_socket own(on_loopback());
    const pulse_socket other(on_loopback(), true);
    way_probe probe;
    EXPECT_FALSE(is_barred(probe, own.place(), other.place()));
    EXPECT_TRUE(probe.is_open());
    EXPECT_EQ(probe.trouble(), "");
}

TEST(way_probe, is_barred_once_four_tries_have_failed) {
    const pulse_socket own(on_loopback());
    const pulse_socket other(on_loopback());
    way_probe probe;
    for (int i = 0; i < way_probe::most_missed; ++i) {
        EXPECT_FALSE(probe.begin_period(own.place().without_port(), other.place())) << i;
    }
    EXPECT_TRUE(probe.begin_period(own.place().without_port(), other.place()));
    EXPECT_FALSE(probe.is_open());
    EXPECT_EQ(probe.trouble(), "Connection refused");
}

TEST(way_probe, one_try_of_several_that_comes_through_is_enough) {
    const pulse_socket own(on_loopback());
    const pulse_socket other(on_loopback());
    way_probe probe;
    for (int i = 1; i < way_probe::most_missed; ++i) {
        EXPECT_FALSE(probe.begin_period(own.place().without_port(), other.place())) << i;
    }
    connection_listener late;
    ASSERT_TRUE(late.open(other.place()));
    EXPECT_FALSE(probe.begin_period(own.place().without_port(), other.place()));
    EXPECT_FALSE(probe.begin_period(own.place().without_port(), other.place()));
    EXPECT_TRUE(probe.is_open());
    EXPECT_EQ(probe.trouble(), "");
}

TEST(connection_listener, does_not_take_the_number_of_another) {
    const pulse_socket own(on_loopback(), true);
    connection_listener second;
    EXPECT_FALSE(second.open(own.place()));
}

TEST(connection_listener, lets_go_of_what_has_come) {
    const pulse_socket other(on_loopback(), true);
    const socket_place where = other.place();
    const int stranger = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(stranger, where.get(), where.bytes), 0);
    other.take_connections();
    char byte = 0;
    EXPECT_EQ(recv(stranger, &byte, 1, 0), 0);
    close(stranger);
}

}  // namespace
}  // namespace selion::machine::fabric
