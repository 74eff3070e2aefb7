// SPDX-License-Identifier: Apache-2.0
#include "collectives/call_book.hpp"

#include <gtest/gtest.h>

namespace selion::collectives {
namespace {

call_signature with_count(std::uint64_t count) {
    return {
        .what = 1, .site = 0, .count = count, .element_bytes = 8, .type_hash = 0, .root = no_root};
}

TEST(call_book, everybody_is_told_what_the_first_has_called) {
    call_book book;
    EXPECT_EQ(book.note({0, 1}, {2, with_count(5)}, 3).member, 2u);
    EXPECT_EQ(book.note({0, 1}, {0, with_count(6)}, 3).call.count, 5u);
    EXPECT_EQ(book.note({0, 1}, {1, with_count(7)}, 3).call.count, 5u);
}

TEST(call_book, teams_and_numbers_are_told_apart) {
    call_book book;
    book.note({0, 1}, {0, with_count(1)}, 2);
    EXPECT_EQ(book.note({0, 2}, {0, with_count(2)}, 2).call.count, 2u);
    EXPECT_EQ(book.note({7, 1}, {0, with_count(3)}, 2).call.count, 3u);
    EXPECT_EQ(book.note({0, 1}, {1, with_count(4)}, 2).call.count, 1u);
}

TEST(call_book, a_page_is_gone_when_all_have_called) {
    call_book book;
    book.note({0, 1}, {0, with_count(1)}, 2);
    book.note({0, 1}, {1, with_count(1)}, 2);
    EXPECT_EQ(book.note({0, 1}, {1, with_count(9)}, 2).call.count, 9u);
}

}  // namespace
}  // namespace selion::collectives
