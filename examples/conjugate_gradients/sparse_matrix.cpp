// SPDX-License-Identifier: Apache-2.0
#include "sparse_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

namespace conjugate_gradients {

double sparse_matrix::at(std::size_t row, std::uint32_t column) const {
    const auto begin = columns.begin() + static_cast<std::ptrdiff_t>(first[row]);
    const auto end = columns.begin() + static_cast<std::ptrdiff_t>(first[row + 1]);
    const auto found = std::lower_bound(begin, end, column);
    if (found == end || *found != column) return 0;
    return values[static_cast<std::size_t>(found - columns.begin())];
}

sparse_matrix make_matrix(std::size_t rows, std::vector<entry> entries) {
    std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) {
        return std::tie(a.row, a.column) < std::tie(b.row, b.column);
    });
    sparse_matrix made;
    made.first.assign(rows + 1, 0);
    for (const entry& one : entries) {
        ++made.first[one.row + 1];
        made.columns.push_back(one.column);
        made.values.push_back(one.value);
    }
    for (std::size_t row = 0; row < rows; ++row) made.first[row + 1] += made.first[row];
    return made;
}

sparse_matrix make_poisson(std::size_t side) {
    std::vector<entry> entries;
    entries.reserve(5 * side * side);
    const auto number = [side](std::size_t y, std::size_t x) {
        return static_cast<std::uint32_t>(y * side + x);
    };
    for (std::size_t y = 0; y < side; ++y) {
        for (std::size_t x = 0; x < side; ++x) {
            const std::uint32_t row = number(y, x);
            entries.push_back({row, row, 4});
            if (y > 0) entries.push_back({row, number(y - 1, x), -1});
            if (x > 0) entries.push_back({row, number(y, x - 1), -1});
            if (x + 1 < side) entries.push_back({row, number(y, x + 1), -1});
            if (y + 1 < side) entries.push_back({row, number(y + 1, x), -1});
        }
    }
    return make_matrix(side * side, std::move(entries));
}

std::optional<std::string> find_obstacle(const sparse_matrix& matrix) {
    char text[160];
    for (std::uint32_t row = 0; row < matrix.rows(); ++row) {
        if (!(matrix.at(row, row) > 0)) {
            std::snprintf(text, sizeof text,
                          "element (%u, %u) of the diagonal is %g: the matrix is not positive "
                          "definite",
                          row + 1, row + 1, matrix.at(row, row));
            return text;
        }
        for (std::size_t i = matrix.first[row]; i < matrix.first[row + 1]; ++i) {
            const std::uint32_t column = matrix.columns[i];
            const double mirrored = matrix.at(column, row);
            // What a program of finite elements wrote may differ in the last digits.
            const double size = std::max(std::abs(matrix.values[i]), std::abs(mirrored));
            if (std::abs(matrix.values[i] - mirrored) <= 1e-9 * size) continue;
            std::snprintf(text, sizeof text,
                          "element (%u, %u) is %.17g and element (%u, %u) is %.17g: the matrix is "
                          "not symmetric",
                          row + 1, column + 1, matrix.values[i], column + 1, row + 1, mirrored);
            return text;
        }
    }
    return std::nullopt;
}

double true_residual(const sparse_matrix& matrix, std::span<const double> x) {
    double squares = 0;
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        double rest = 1;
        for (std::size_t i = matrix.first[row]; i < matrix.first[row + 1]; ++i) {
            rest -= matrix.values[i] * x[matrix.columns[i]];
        }
        squares += rest * rest;
    }
    return std::sqrt(squares);
}

}  // namespace conjugate_gradients
