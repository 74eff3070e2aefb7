// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/endpoint.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "machine/fabric/operations.hpp"

namespace selion::machine::fabric {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds longest{20};
constexpr std::uint64_t key = 0x1234567;

/// Two endpoints, of which the second one offers memory and at some time takes nothing more.
class pair_of_endpoints {
public:
    static std::unique_ptr<pair_of_endpoints> open() {
        endpoint_wish wish;
        wish.provider = "net";
        wish.is_on_one_host = true;
        auto opened = endpoint::open(wish, 2);
        if (!opened) return nullptr;
        auto made = std::make_unique<pair_of_endpoints>();
        made->ends = std::move(opened).value();
        if (!made->from().can_move() || made->to().offer(made->memory, key)) return nullptr;
        made->address = made->from().insert(made->to().name()).value();
        return made;
    }

    endpoint& from() { return *ends[0]; }
    endpoint& to() { return *ends[1]; }
    bool send() {
        outgoing_frame frame;
        frame.first = data;
        return from().try_send(address, 1, frame, why) == send_outcome::sent;
    }
    /// Until one frame has left: the connection is there.
    void connect() {
        endpoint_event event;
        const auto end = steady_clock::now() + longest;
        while (!send() && steady_clock::now() < end) {
            from().read(event);
            to().read(event);
        }
    }
    /// The peer looks no more, so frames fill what is between the two.
    void fill() {
        endpoint_event event;
        auto last = steady_clock::now();
        while (steady_clock::now() - last < std::chrono::milliseconds(200)) {
            bool goes_on = send();
            while (from().read(event)) goes_on |= event.what == endpoint_event::kind::sent;
            if (goes_on) last = steady_clock::now();
        }
    }
    bool start_read(move_owner* what) {
        return from().try_move({.to = address,
                                .peer = 1,
                                .key = key,
                                .offset = 0,
                                .own = own.data(),
                                .bytes = own.size(),
                                .is_read = true,
                                .what = what},
                               why) == send_outcome::sent;
    }

    std::vector<std::unique_ptr<endpoint>> ends;
    peer_address address = {};
    std::vector<std::byte> memory = std::vector<std::byte>(1 << 20);
    std::vector<std::byte> own = std::vector<std::byte>(1 << 20);
    std::vector<std::byte> data = std::vector<std::byte>(15'000);
    std::string why;
};

TEST(endpoint, a_read_that_has_not_left_when_its_peer_goes_fails_as_what_it_is) {
    const auto both = pair_of_endpoints::open();
    if (both == nullptr) GTEST_SKIP() << "there is no provider 'net' that moves memory";
    both->connect();
    both->fill();
    move_owner what;
    ASSERT_TRUE(both->start_read(&what)) << both->why;
    both->ends[1].reset();
    bool has_failed = false;
    endpoint_event event;
    const auto end = steady_clock::now() + longest;
    while (!has_failed && steady_clock::now() < end) {
        if (!both->from().read(event)) continue;
        if (event.what == endpoint_event::kind::sent) continue;
        ASSERT_EQ(event.what, endpoint_event::kind::failed) << event.why;
        ASSERT_FALSE(event.is_receive) << event.why;
        has_failed = event.moved != nullptr;
    }
    ASSERT_TRUE(has_failed);
    EXPECT_EQ(event.moved, &what);
    EXPECT_TRUE(event.is_read);
    EXPECT_EQ(event.peer, 1u);
}

}  // namespace
}  // namespace selion::machine::fabric
