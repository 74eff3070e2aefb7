// SPDX-License-Identifier: Apache-2.0
#include "solver.hpp"

#include <algorithm>
#include <cmath>

namespace conjugate_gradients {

namespace {

constexpr std::size_t most_pieces = 64;

/// Columns that are not needed but lie between two that are: reading up to so many of them costs
/// less than one more transfer.
constexpr std::size_t bridged_gap = 8;

constexpr std::size_t divide_up(std::size_t all, std::size_t by) { return (all + by - 1) / by; }

/// Sums over all rows, in an order that does not depend on the number of ranks.
class inner_products {
public:
    inner_products(const selion::world& world, const division& rows)
        : world_(&world),
          piece_rows_(rows.piece_rows),
          own_(rows.pieces_of_rank),
          all_(rows.pieces_of_rank * world.size()) {}

    /// Collective. When it returns, all ranks have called it.
    double operator()(std::span<const double> a, std::span<const double> b) {
        std::fill(own_.begin(), own_.end(), 0.0);
        for (std::size_t i = 0; i < a.size(); ++i) own_[i / piece_rows_] += a[i] * b[i];
        selion::charge((selion::flops(2) + selion::loads(2)) * a.size());
        // Everybody adds up the pieces' sums for itself. An all_reduce would send less, but add in
        // another order for another number of ranks.
        world_->all_gather(own_, all_);
        double sum = 0;
        for (const double piece : all_) sum += piece;
        return sum;
    }

private:
    const selion::world* world_;
    std::size_t piece_rows_;
    std::vector<double> own_;
    std::vector<double> all_;
};

}  // namespace

division::division(std::size_t all_rows, std::size_t ranks)
    : rows(all_rows),
      piece_rows(divide_up(all_rows, most_pieces)),
      pieces_of_rank(divide_up(divide_up(all_rows, piece_rows), ranks)) {}

std::size_t division::first_row(std::size_t rank) const {
    return std::min(rank * rows_of_rank(), rows);
}

own_rows::own_rows(const sparse_matrix& all, std::size_t first, std::size_t end) {
    const auto begin = all.columns.begin() + static_cast<std::ptrdiff_t>(all.first[first]);
    const auto stop = all.columns.begin() + static_cast<std::ptrdiff_t>(all.first[end]);
    std::vector<std::uint32_t> needed(begin, stop);
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    std::size_t place = 0;
    for (const std::uint32_t column : needed) {
        const bool goes_on =
            !runs_.empty() && column < runs_.back().first + runs_.back().count + bridged_gap;
        if (goes_on) {
            runs_.back().count = column - runs_.back().first + 1;
        } else {
            runs_.push_back({column, 1, place});
        }
        place = runs_.back().place + runs_.back().count;
    }
    seen_.resize(place);

    for (std::size_t row = first; row < end; ++row) {
        for (std::size_t i = all.first[row]; i < all.first[row + 1]; ++i) {
            const auto after = std::upper_bound(
                runs_.begin(), runs_.end(), std::size_t{all.columns[i]},
                [](std::size_t column, const run& one) { return column < one.first; });
            const run& one = *(after - 1);
            columns_.push_back(static_cast<std::uint32_t>(one.place + all.columns[i] - one.first));
            values_.push_back(all.values[i]);
        }
        first_.push_back(values_.size());
    }
}

void own_rows::multiply(const spread_vector& vector, std::span<double> result) {
    {
        selion::transfers under_way;  // all runs are on their way at once
        for (const run& one : runs_) {
            vector.get(under_way, {{one.first}, {one.count}},
                       std::span(seen_).subspan(one.place, one.count));
        }
        under_way.sync();
    }
    for (std::size_t row = 0; row < result.size(); ++row) {
        double sum = 0;
        for (std::size_t i = first_[row]; i < first_[row + 1]; ++i) {
            sum += values_[i] * seen_[columns_[i]];
        }
        result[row] = sum;
    }
    selion::charge((selion::flops(2) + selion::loads(3)) * values_.size());
}

outcome solve(const selion::world& world, const sparse_matrix& matrix, const division& rows,
              const spread_vector& x, const limits& until) {
    const std::size_t first = rows.first_row(world.rank());
    const std::size_t end = rows.first_row(std::size_t{world.rank()} + 1);
    const std::size_t mine = end - first;
    own_rows own(matrix, first, end);
    // Only the direction is read by others; of all vectors each rank touches its own rows.
    const spread_vector direction(
        world, x.extents(),
        selion::on_grid(selion::block_cyclic(rows.rows_of_rank(), world.size())), "direction");
    const auto p = direction.local().first(mine);
    const auto solution = x.local().first(mine);
    std::vector<double> r(mine, 1.0);  // b - A x for x = 0
    std::vector<double> q(mine);
    std::copy(r.begin(), r.end(), p.begin());

    inner_products product(world, rows);
    double squares = product(r, r);
    const double wanted = until.residual * std::sqrt(squares);
    outcome result;
    while (std::sqrt(squares) > wanted && result.iterations < until.iterations) {
        world.barrier();  // everybody's part of the direction is there
        own.multiply(direction, q);
        const double curvature = product(p, q);  // after this all have read the direction
        if (!(curvature > 0)) {
            result.how = outcome::end::not_definite;
            break;
        }
        const double step = squares / curvature;
        for (std::size_t i = 0; i < mine; ++i) solution[i] += step * p[i];
        for (std::size_t i = 0; i < mine; ++i) r[i] -= step * q[i];
        const double before = squares;
        squares = product(r, r);
        for (std::size_t i = 0; i < mine; ++i) p[i] = r[i] + squares / before * p[i];
        selion::charge((selion::flops(6) + selion::loads(6) + selion::stores(3)) * mine);
        ++result.iterations;
    }
    result.residual = std::sqrt(squares);
    if (result.residual <= wanted) result.how = outcome::end::converged;
    selion::deallocate(world, direction);
    return result;
}

}  // namespace conjugate_gradients
