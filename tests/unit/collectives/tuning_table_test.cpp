// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/tuning_table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include <selion/detail/hash.hpp>
#include "selion/tuning.hpp"

namespace selion::collectives {
namespace {

using testing::HasSubstr;
using enum collective_kind;

constexpr const char* own_host = "0123456789abcdef";

/// As `selion tune` writes it.
std::string file_of(const std::vector<std::string>& rows, const std::string& host = own_host) {
    std::uint64_t hash = detail::text_hash(host);
    std::string text = fmt::format(
        "{{\n \"format\": \"selion tuning 1\",\n \"host\": \"{}\",\n \"rows\": [\n", host);
    for (const std::string& row : rows) {
        hash = detail::text_hash(row, detail::text_hash("\n", hash));
        text += fmt::format("  \"{}\"{}\n", row, &row == &rows.back() ? "" : ",");
    }
    return text + fmt::format(" ],\n \"check\": \"{:016x}\"\n}}\n", hash);
}

const std::vector<std::string> some_rows{
    "all_reduce threads 2 64 board=100.5 lines:k_nomial:2=250 slots=300",
    "all_reduce threads 2 8 board=90",
    "all_reduce threads 4 64 lines:hierarchical:2:2=400 lines:k_nomial:4=410",
    "broadcast fibers 8 1024 messages:chain=1000",
    "broadcast threads 3 8 slots=7",
};

result<tuning_table> read(const std::string& text, const char* machine = "threads") {
    return tuning_table::read(text, own_host, machine);
}

std::string refusal_of(const std::string& text) {
    const auto table = read(text);
    return table ? "not refused" : table.trouble().what();
}

TEST(tuning_table, rows_come_by_rising_bytes_with_the_order_of_their_candidates) {
    const auto table = read(file_of(some_rows));
    ASSERT_TRUE(table) << table.trouble().what();
    const auto rows = table.value().rows(all_reduce, 2);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].bytes, 8u);
    EXPECT_EQ(rows[1].bytes, 64u);
    ASSERT_EQ(rows[1].candidates.size(), 3u);
    EXPECT_EQ(text_of(rows[1].candidates[1].choice), "lines:k_nomial:2");
    EXPECT_EQ(rows[1].candidates[0].ns, 100.5);
    EXPECT_TRUE(rows[1].candidates[1].keeps_association);
    EXPECT_FALSE(table.value().rows(all_reduce, 4)[0].candidates[0].keeps_association);
}

TEST(tuning_table, pairs_of_pairs_keep_the_association_for_some_numbers_of_members) {
    const collective_choice pairs{collective_way::messages,
                                  {.algorithm = schedule_algorithm::recursive_doubling}};
    std::vector<std::uint32_t> kept;
    for (std::uint32_t members = 1; members <= 16; ++members) {
        if (keeps_association(all_reduce, pairs, members)) kept.push_back(members);
    }
    EXPECT_EQ(kept, (std::vector<std::uint32_t>{1, 2, 3, 4, 6, 7, 8, 12, 14, 15, 16}));
}

TEST(tuning_table, teams_take_the_next_smaller_one_that_is_not_too_small) {
    const auto table = read(file_of(some_rows));
    ASSERT_TRUE(table);
    EXPECT_EQ(table.value().rows(all_reduce, 3)[0].members, 2u);
    EXPECT_EQ(table.value().rows(all_reduce, 8)[0].members, 4u);
    EXPECT_TRUE(table.value().rows(all_reduce, 9).empty());
    EXPECT_TRUE(table.value().rows(all_reduce, 1).empty());
    EXPECT_TRUE(table.value().rows(broadcast, 2).empty());
    EXPECT_EQ(table.value().rows(broadcast, 6).size(), 1u);
    EXPECT_TRUE(table.value().rows(barrier, 2).empty());
}

TEST(tuning_table, other_machines_have_their_own_rows) {
    const auto table = read(file_of(some_rows), "fibers");
    ASSERT_TRUE(table);
    EXPECT_EQ(table.value().rows(broadcast, 8).size(), 1u);
    EXPECT_TRUE(table.value().rows(all_reduce, 2).empty());
}

TEST(tuning_table, damage_is_told) {
    EXPECT_THAT(refusal_of(""), HasSubstr("damaged or no tuning table"));
    EXPECT_THAT(refusal_of("{}\n"), HasSubstr("damaged or no tuning table"));
    std::string text = file_of(some_rows);
    EXPECT_THAT(refusal_of(text.substr(0, text.size() / 2)), HasSubstr("damaged"));
    const std::string whole = text;
    EXPECT_THAT(refusal_of(text.replace(text.find("=90"), 3, "=91")), HasSubstr("damaged"));
    text = whole;
    EXPECT_THAT(refusal_of(text.replace(text.find("tuning 1"), 8, "tuning 2")),
                HasSubstr("'selion tuning 2'; this version reads 'selion tuning 1'"));
}

TEST(tuning_table, every_shortened_file_is_refused) {
    const std::string text = file_of(some_rows);
    const std::size_t last = text.find("\"check\"") + 28;
    for (std::size_t length = 0; length < last - 2; ++length) {
        EXPECT_NE(refusal_of(text.substr(0, length)), "not refused") << length;
    }
}

TEST(tuning_table, another_host_is_told) {
    EXPECT_THAT(refusal_of(file_of(some_rows, "fedcba9876543210")), HasSubstr("another host"));
}

TEST(tuning_table, rows_that_make_no_sense_are_told) {
    const auto of_row = [](const std::string& row) { return refusal_of(file_of({row})); };
    EXPECT_THAT(of_row("all_reduce threads 4 8 lines:k_nomal:2=5"),
                HasSubstr("did you mean 'k_nomial'"));
    EXPECT_THAT(of_row("all_reduce threads 4 8 lines:k_nomial:1=5"), HasSubstr("radix '1'"));
    EXPECT_THAT(of_row("all_reduce threads 4 8 lines:k_nomial:5=5"), HasSubstr("legal: 2 to 4"));
    EXPECT_THAT(of_row("all_reduce threads 4 8 lines:chain/5000=5"), HasSubstr("1 to 4096"));
    EXPECT_THAT(of_row("gather threads 4 8 lines:chain/5=5"), HasSubstr("gather by chain goes in"));
    EXPECT_THAT(of_row("barrier threads 4 8 lines:ring=5"), HasSubstr("has no algorithm ring"));
    EXPECT_THAT(of_row("all_reduce threads 4 8 board"), HasSubstr("has no time"));
    EXPECT_THAT(of_row("all_reduce threads 4 8 board=-1"), HasSubstr("has no time"));
    EXPECT_THAT(of_row("all_reduce threads 4 8 board=1x"), HasSubstr("has no time"));
    EXPECT_THAT(of_row("all_reduce threads 4"), HasSubstr("too short"));
    EXPECT_THAT(of_row("all_reduce threads 0 8 board=1"), HasSubstr("too short"));
    EXPECT_THAT(of_row("all_to_all threads 4 8 board=1"), HasSubstr("no collective"));
}

TEST(choice_text, goes_there_and_back) {
    for (const char* text : {"board", "slots", "slots:8192", "lines:k_nomial:4", "messages:ring",
                             "lines:hierarchical:2:8", "messages:pairwise", "lines:mesh:4",
                             "lines:chain/8", "messages:k_nomial:2/32"}) {
        EXPECT_EQ(text_of(choice_of(text)), text);
    }
    EXPECT_EQ(text_of(choice_of("lines:k_nomial")), "lines:k_nomial:2");
}

TEST(choice_text, what_is_not_legal_is_refused) {
    const auto refused = [](const char* text) -> std::string {
        try {
            static_cast<void>(choice_of(text));
        } catch (const error& trouble) {
            return trouble.what();
        }
        return "not refused";
    };
    EXPECT_THAT(refused("bord"), HasSubstr("did you mean 'board'"));
    EXPECT_THAT(refused(""), HasSubstr("there are board, slots, direct, lines, messages"));
    EXPECT_THAT(refused("lines"), HasSubstr("needs an algorithm"));
    EXPECT_THAT(refused("lines:k_nomial:1"), HasSubstr("from 2"));
    EXPECT_THAT(refused("board:2"), HasSubstr("too many"));
    EXPECT_THAT(refused("lines:ring:2"), HasSubstr("too many"));
    EXPECT_THAT(refused("lines:mesh:0"), HasSubstr("group '0'"));
    EXPECT_THAT(refused("slots:63"), HasSubstr("part's bytes '63'"));
    EXPECT_THAT(refused("board/2"), HasSubstr("board goes in no segments"));
    EXPECT_THAT(refused("lines:chain/"), HasSubstr("from 1"));
    EXPECT_THAT(refused("lines:chain/8/9"), HasSubstr("number of segments '8/9'"));
}

}  // namespace
}  // namespace selion::collectives
