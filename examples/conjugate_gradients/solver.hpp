// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <selion/selion.hpp>

#include "sparse_matrix.hpp"

namespace conjugate_gradients {

using spread_vector = selion::spread_array<double, 1>;

/// How rows are dealt out. They are cut into at most 64 pieces, and each rank has some whole pieces
/// that follow each other. A sum over all rows is the sum of the pieces' sums in their order, so it
/// does not depend on how many ranks there are.
struct division {
    division(std::size_t rows, std::size_t ranks);

    std::size_t rows;
    std::size_t piece_rows;      ///< of each piece but the last
    std::size_t pieces_of_rank;  ///< at most
    std::size_t rows_of_rank() const { return piece_rows * pieces_of_rank; }
    /// The first row of a rank, or the number of rows if it has none.
    std::size_t first_row(std::size_t rank) const;
};

/// A rank's rows of a matrix. It reads those elements of a vector that its rows need, whoever has
/// them: which these are it finds out once.
class own_rows {
public:
    own_rows(const sparse_matrix& all, std::size_t first, std::size_t end);

    /// @param result the rank's elements of A times `vector`.
    void multiply(const spread_vector& vector, std::span<double> result);

private:
    /// Columns that follow each other, and where they go in `seen_`.
    struct run {
        std::size_t first;
        std::size_t count;
        std::size_t place;
    };
    std::vector<run> runs_;
    std::vector<double> seen_;
    std::vector<std::size_t> first_ = {0};
    std::vector<std::uint32_t> columns_;  ///< numbered as in `seen_`
    std::vector<double> values_;
};

struct outcome {
    enum class end { converged, gave_up, not_definite };
    end how = end::gave_up;
    std::uint32_t iterations = 0;
    double residual = 0;  ///< length of b - A x, as the recurrence has it
};

struct limits {
    double residual;  ///< in parts of the length of b
    std::uint32_t iterations;
};

/// Collective. Solves A x = b, where all elements of b are 1 (M. R. Hestenes, E. Stiefel: "Methods
/// of conjugate gradients for solving linear systems", J. Res. NBS 49, 1952).
/// @param x divided as `rows` says; zero at first.
/// @return the same on all ranks, and for every number of ranks.
outcome solve(const selion::world& world, const sparse_matrix& matrix, const division& rows,
              const spread_vector& x, const limits& until);

}  // namespace conjugate_gradients
