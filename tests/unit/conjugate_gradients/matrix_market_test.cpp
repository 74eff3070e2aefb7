// SPDX-License-Identifier: Apache-2.0
#include "matrix_market.hpp"

#include <gtest/gtest.h>

#include <string>

namespace conjugate_gradients {
namespace {

const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";

std::string complaint(const std::string& text) {
    try {
        parse_matrix_market(text, "a.mtx");
    } catch (const bad_file& wrong) {
        return wrong.what();
    }
    return "accepted";
}

TEST(matrix_market, reads_entries_in_any_order) {
    const sparse_matrix read = parse_matrix_market(
        general + "% a comment\n\n 2 2 3 \r\n2 2 +2.5e0\n1\t1 3\n2 1 -1\n% the end\n", "a.mtx");
    EXPECT_EQ(read.first, (std::vector<std::size_t>{0, 1, 3}));
    EXPECT_EQ(read.columns, (std::vector<std::uint32_t>{0, 0, 1}));
    EXPECT_EQ(read.values, (std::vector<double>{3, -1, 2.5}));
    EXPECT_EQ(read.at(0, 1), 0);
}

TEST(matrix_market, mirrors_what_a_symmetric_file_has_below_the_diagonal) {
    const sparse_matrix read =
        parse_matrix_market(symmetric + "2 2 3\n1 1 4\n2 1 -1\n2 2 4\n", "a.mtx");
    EXPECT_EQ(read.entries(), 4U);
    EXPECT_EQ(read.at(0, 1), -1);
    EXPECT_EQ(read.at(1, 0), -1);
    EXPECT_EQ(find_obstacle(read), std::nullopt);
}

TEST(matrix_market, knows_patterns_and_integers) {
    const std::string pattern = "%%matrixmarket Matrix Coordinate Pattern General\n1 1 1\n1 1";
    EXPECT_EQ(parse_matrix_market(pattern, "a.mtx").values, (std::vector<double>{1}));
    const std::string integer = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 7\n";
    EXPECT_EQ(parse_matrix_market(integer, "a.mtx").values, (std::vector<double>{7}));
}

TEST(matrix_market, names_the_line_of_a_mistake) {
    EXPECT_EQ(complaint(""),
              "a.mtx:1: not a Matrix Market file: its first line begins with %%MatrixMarket");
    EXPECT_EQ(complaint("%%MatrixMarket matrix array real general\n"),
              "a.mtx:1: 'array' in the first line; this program reads coordinate");
    EXPECT_EQ(complaint("%%MatrixMarket matrix coordinate complex general\n"),
              "a.mtx:1: 'complex' in the first line; this program reads real, double, integer, "
              "pattern");
    EXPECT_EQ(complaint("%%MatrixMarket matrix coordinate real hermitian\n"),
              "a.mtx:1: 'hermitian' in the first line; this program reads general, symmetric");
    EXPECT_EQ(complaint(general + "%\n"), "a.mtx:2: the file ends before the line with the size");
    EXPECT_EQ(complaint(general + "2 3 1\n"), "a.mtx:2: a matrix of 2 x 3 is not square");
    EXPECT_EQ(complaint(general + "2 2\n"), "a.mtx:2: the line ends before a number of entries");
    EXPECT_EQ(complaint(general + "-2 2 1\n"), "a.mtx:2: '-2' is not a number of rows");
    EXPECT_EQ(complaint(general + "2 2 1 1\n"), "a.mtx:2: '1' is too much in this line");
    EXPECT_EQ(complaint(general + "2 2 2\n1 1 1\n"), "a.mtx:3: the file ends before entry 2 of 2");
    EXPECT_EQ(complaint(general + "2 2 1\n3 1 1\n"), "a.mtx:3: row 3 is not within 1 to 2");
    EXPECT_EQ(complaint(general + "2 2 1\n1 0 1\n"), "a.mtx:3: column 0 is not within 1 to 2");
    EXPECT_EQ(complaint(general + "2 2 1\n1 1 x\n"), "a.mtx:3: 'x' is not a number");
    EXPECT_EQ(complaint(general + "2 2 1\n1 1 inf\n"), "a.mtx:3: the value is not finite");
    EXPECT_EQ(complaint(general + "2 2 1\n1 1\n"), "a.mtx:3: the line ends before a number");
    EXPECT_EQ(complaint(general + "1 1 2\n1 1 1\n1 1 1\n"),
              "a.mtx:4: this entry stands in line 3 already");
    EXPECT_EQ(complaint(general + "1 1 1\n1 1 1\n\n1 1 1\n"),
              "a.mtx:5: more than the 1 entries that the file claims");
    EXPECT_EQ(complaint(symmetric + "2 2 1\n1 2 1\n"),
              "a.mtx:3: an entry above the diagonal; a symmetric file has those below it");
}

TEST(matrix_market, asks_for_no_memory_that_a_file_only_claims) {
    EXPECT_EQ(complaint(general + "4000000000 4000000000 1\n1 1 1\n"),
              "a.mtx:3: 1 elements in 4000000000 rows: some rows are empty");
    EXPECT_EQ(complaint(general + "2 2 9000000000000000000\n1 1 1\n"),
              "a.mtx:3: the file ends before entry 2 of 9000000000000000000");
}

}  // namespace
}  // namespace conjugate_gradients
