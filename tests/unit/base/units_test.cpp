// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <utility>

namespace selion::base {
namespace {

TEST(units, sizes_are_binary_multiples) {
    const std::pair<const char*, std::uint64_t> known[] = {
        {"0", 0},           {"4096", 4096},       {"64K", 64 << 10},
        {"64k", 64 << 10},  {"64kb", 64 << 10},   {"64kib", 64 << 10},
        {"12b", 12},        {"64KB", 64 << 10},   {"64KiB", 64 << 10},
        {"3M", 3 << 20},    {"1.5G", 3ull << 29}, {"0.5k", 512},
        {"2T", 2ull << 40}, {"12B", 12},
    };
    for (const auto& [text, bytes] : known) EXPECT_EQ(parse_bytes(text), bytes) << text;
}

TEST(units, sizes_that_are_none_are_refused) {
    for (const char* text : {"", "K", "-1", "-1K", "+1", "1Q", "1 K", " 1", "1K ", "1KK", "1KiBB",
                             "1e3", "0x10", "inf", "nan", "1,5G", "99999999T", "B", "one"}) {
        EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
    }
}

TEST(units, sizes_are_told_in_the_largest_unit_that_leaves_one) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1024), "1 KiB");
    EXPECT_EQ(bytes_text(1536), "1.5 KiB");
    EXPECT_EQ(bytes_text(5ull << 20), "5 MiB");
    EXPECT_EQ(bytes_text(3ull << 29), "1.5 GiB");
    EXPECT_EQ(bytes_text(1ull << 40), "1 TiB");
    EXPECT_EQ(bytes_text(1ull << 52), "4096 TiB");
}

TEST(units, whole_numbers) {
    EXPECT_EQ(parse_whole("0"), 0u);
    EXPECT_EQ(parse_whole("007"), 7u);
    EXPECT_EQ(parse_whole("18446744073709551615"), ~std::uint64_t{0});
    for (const char* text :
         {"", "18446744073709551616", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "one"}) {
        EXPECT_EQ(parse_whole(text), std::nullopt) << text;
    }
}

TEST(units, seconds) {
    EXPECT_EQ(parse_seconds("0"), 0.0);
    EXPECT_EQ(parse_seconds("0.5"), 0.5);
    EXPECT_EQ(parse_seconds("60"), 60.0);
    for (const char* text : {"", "-1", "1s", "nan", "inf", "1 ", "1e3", "0,5"}) {
        EXPECT_EQ(parse_seconds(text), std::nullopt) << text;
    }
}

TEST(units, a_number_that_a_file_begins_with) {
    const std::string path = testing::TempDir() + "units_test_number";
    const auto found = [&](const char* text) {
        std::ofstream(path) << text;
        return whole_in_file(path);
    };
    EXPECT_EQ(found("512\n"), 512u);
    EXPECT_EQ(found(" 7 8"), 7u);
    EXPECT_EQ(found("max\n"), std::nullopt);
    EXPECT_EQ(found(""), std::nullopt);
    std::remove(path.c_str());
    EXPECT_EQ(whole_in_file(path), std::nullopt);
}

}  // namespace
}  // namespace selion::base
