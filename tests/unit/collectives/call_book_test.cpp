// SPDX-License-Identifier: Apache-2.0
#include "collectives/call_book.hpp"

#include <gtest/gtest.h>

namespace selion::collectives {
namespace {

placed_call call_of(std::uint64_t count) {
    const call_signature call{.what = 1,
                              .modes = 0,
                              .whole = 0,
                              .site = 0,
                              .count = count,
                              .element_bytes = 8,
                              .type_hash = 0,
                              .root = no_root};
    return {.call = call, .number = 0, .script = {}};
}

TEST(call_book, everybody_is_told_what_the_first_has_called) {
    call_book book;
    EXPECT_EQ(book.note({0, 1}, {2, call_of(5)}, 3).member, 2u);
    EXPECT_EQ(book.note({0, 1}, {0, call_of(6)}, 3).call.call.count, 5u);
    EXPECT_EQ(book.note({0, 1}, {1, call_of(7)}, 3).call.call.count, 5u);
}

TEST(call_book, teams_and_numbers_are_told_apart) {
    call_book book;
    book.note({0, 1}, {0, call_of(1)}, 2);
    EXPECT_EQ(book.note({0, 2}, {0, call_of(2)}, 2).call.call.count, 2u);
    EXPECT_EQ(book.note({7, 1}, {0, call_of(3)}, 2).call.call.count, 3u);
    EXPECT_EQ(book.note({0, 1}, {1, call_of(4)}, 2).call.call.count, 1u);
}

TEST(call_book, a_page_is_gone_when_all_have_called) {
    call_book book;
    book.note({0, 1}, {0, call_of(1)}, 2);
    book.note({0, 1}, {1, call_of(1)}, 2);
    EXPECT_EQ(book.note({0, 1}, {1, call_of(9)}, 2).call.call.count, 9u);
}

}  // namespace
}  // namespace selion::collectives
