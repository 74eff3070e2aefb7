// SPDX-License-Identifier: Apache-2.0
#include "sparse_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "solver.hpp"

namespace conjugate_gradients {
namespace {

TEST(sparse_matrix, of_poisson_has_four_neighbours_inside) {
    const sparse_matrix made = make_poisson(3);
    EXPECT_EQ(made.rows(), 9U);
    EXPECT_EQ(made.entries(), 33U);
    EXPECT_EQ(made.at(4, 4), 4);
    for (const std::uint32_t neighbour : {1U, 3U, 5U, 7U}) EXPECT_EQ(made.at(4, neighbour), -1);
    EXPECT_EQ(made.at(2, 3), 0);  // the end of one line of points and the start of the next
    EXPECT_EQ(find_obstacle(made), std::nullopt);
}

TEST(sparse_matrix, says_why_conjugate_gradients_cannot_work) {
    EXPECT_EQ(find_obstacle(make_matrix(2, {{0, 0, 1}, {1, 0, 2}, {1, 1, 1}})),
              "element (2, 1) is 2 and element (1, 2) is 0: the matrix is not symmetric");
    EXPECT_EQ(find_obstacle(make_matrix(2, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}})),
              "element (2, 2) of the diagonal is 0: the matrix is not positive definite");
}

TEST(sparse_matrix, true_residual_is_the_length_of_b_minus_a_x) {
    const sparse_matrix made = make_matrix(2, {{0, 0, 2}, {1, 1, 4}});
    EXPECT_EQ(true_residual(made, std::vector<double>{0.5, 0.25}), 0);
    EXPECT_EQ(true_residual(made, std::vector<double>{0, 0.25}), 1);
}

TEST(division, gives_each_row_to_one_rank_in_whole_pieces) {
    for (const std::size_t rows : {1U, 2U, 63U, 64U, 65U, 600U, 1000U}) {
        for (const std::size_t ranks : {1U, 2U, 3U, 8U, 64U, 100U}) {
            const division made(rows, ranks);
            EXPECT_EQ(made.first_row(0), 0U);
            EXPECT_EQ(made.first_row(ranks), rows);
            EXPECT_EQ(made.piece_rows, division(rows, 1).piece_rows);
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                const bool is_end = made.first_row(rank) == rows;
                EXPECT_TRUE(is_end || made.first_row(rank) % made.piece_rows == 0);
            }
        }
    }
}

}  // namespace
}  // namespace conjugate_gradients
