// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace conjugate_gradients {

struct entry {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    double value = 0;

    bool operator==(const entry&) const = default;
};

/// A square matrix, row by row: what row `i` has lies from `first[i]` up to `first[i + 1]`, by
/// rising columns.
struct sparse_matrix {
    std::vector<std::size_t> first = {0};
    std::vector<std::uint32_t> columns;
    std::vector<double> values;

    std::size_t rows() const { return first.size() - 1; }
    std::size_t entries() const { return values.size(); }
    /// Zero where there is no entry.
    double at(std::size_t row, std::uint32_t column) const;
};

/// @param entries in any order, no place twice, all within `rows`.
sparse_matrix make_matrix(std::size_t rows, std::vector<entry> entries);

/// Poisson's equation on a square of `side` x `side` inner points: 4 on the diagonal, -1 for each
/// neighbour.
sparse_matrix make_poisson(std::size_t side);

/// Why conjugate gradients cannot work on the matrix: a place where it is not symmetric, or a
/// diagonal element that is not positive. Nothing if there is no such place, which is necessary for
/// a positive definite matrix but not enough.
std::optional<std::string> find_obstacle(const sparse_matrix& matrix);

/// The length of b - A x, where all elements of b are 1: one plain loop, without the runtime.
double true_residual(const sparse_matrix& matrix, std::span<const double> x);

}  // namespace conjugate_gradients
