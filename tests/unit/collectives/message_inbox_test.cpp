// SPDX-License-Identifier: Apache-2.0
#include "collectives/message_inbox.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace selion::collectives {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A part as it comes from rank 1: team, number, bytes of the whole message, place of the part.
void add_part(message_inbox& inbox, const std::array<std::uint64_t, 4>& header,
              std::span<const std::byte> data) {
    detail::incoming_message come{};
    come.about.origin = 1;
    come.about.data = data;
    come.about.data_bytes = data.size();
    come.arguments = std::as_bytes(std::span(header));
    inbox.add(come);
}

TEST(message_inbox, messages_of_a_team_that_is_left_go) {
    message_inbox inbox;
    const std::array<std::byte, 64> data{};
    for (const std::uint64_t team : {5, 6, 7}) {
        for (const std::uint64_t number : {1, 2}) add_part(inbox, {team, number, 64, 0}, data);
    }
    inbox.drop_team(6);
    EXPECT_THAT(inbox.names(), ElementsAre(collective_name{5, 1}, collective_name{5, 2},
                                           collective_name{7, 1}, collective_name{7, 2}));
}

TEST(message_inbox, the_rest_of_a_message_that_went_is_none) {
    message_inbox inbox;
    const std::array<std::byte, 64> data{};
    add_part(inbox, {5, 1, 128, 0}, data);
    inbox.drop_team(5);
    add_part(inbox, {5, 1, 128, 64}, data);
    inbox.sort_in();
    EXPECT_THAT(inbox.names(), IsEmpty());
    add_part(inbox, {5, 2, 64, 0}, data);
    inbox.sort_in();
    EXPECT_THAT(inbox.names(), ElementsAre(collective_name{5, 2}));
    EXPECT_EQ(inbox.complete({{5, 2}, 1}), 1u);
}

TEST(message_inbox, what_has_come_is_told_once) {
    message_inbox inbox;
    const std::array<std::byte, 64> data{};
    std::vector<collective_name> come;
    add_part(inbox, {5, 2, 64, 0}, data);
    inbox.sort_in(come);
    come.clear();
    for (const std::uint64_t start : {0, 64}) add_part(inbox, {5, 1, 128, start}, data);
    add_part(inbox, {7, 1, 64, 0}, data);
    inbox.sort_in(come);
    EXPECT_THAT(come, ElementsAre(collective_name{5, 1}, collective_name{7, 1}));
    inbox.drop({5, 1});
    EXPECT_THAT(inbox.names(), ElementsAre(collective_name{5, 2}, collective_name{7, 1}));
}

}  // namespace
}  // namespace selion::collectives
