// SPDX-License-Identifier: Apache-2.0
//
// A two-dimensional Fourier transform. Each rank has some rows. It transforms them, all ranks
// exchange blocks so that each has some columns, and it transforms those: the exchange of all with
// all is the whole communication.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include <selion/selion.hpp>

#include "command_line.hpp"
#include "printed.hpp"
#include "random_numbers.hpp"

namespace {

using number = std::complex<double>;

/// One-dimensional transforms of a length that is a power of two (J. W. Cooley, J. W. Tukey: "An
/// algorithm for the machine calculation of complex Fourier series", Math. Comp. 19, 1965).
class row_transform {
public:
    explicit row_transform(std::size_t length) : length_(length) {
        for (std::size_t k = 0; k < length / 2; ++k) {
            const double turn = static_cast<double>(k) / static_cast<double>(length);
            roots_.push_back(std::polar(1.0, -2 * std::numbers::pi * turn));
        }
    }

    /// In place. Backwards is not scaled: there and back multiplies by the length.
    void operator()(std::span<number> row, bool is_backwards) const {
        reverse_bits(row);
        for (std::size_t half = 1; half < length_; half *= 2) {
            const std::size_t step = length_ / (2 * half);
            for (std::size_t i = 0; i < length_ / 2; ++i) {
                const std::size_t within = i % half;
                const std::size_t low = i / half * 2 * half + within;
                const number root = roots_[within * step];
                const number turned = row[low + half] * (is_backwards ? std::conj(root) : root);
                row[low + half] = row[low] - turned;
                row[low] += turned;
            }
        }
        const auto levels = static_cast<std::uint64_t>(std::countr_zero(length_));
        selion::charge((selion::flops(10) + selion::loads(6) + selion::stores(4)) *
                       (levels * length_ / 2));
    }

private:
    void reverse_bits(std::span<number> row) const {
        for (std::size_t i = 1, reversed = 0; i < length_; ++i) {
            std::size_t bit = length_ / 2;
            for (; (reversed & bit) != 0; bit /= 2) reversed ^= bit;
            reversed |= bit;
            if (i < reversed) std::swap(row[i], row[reversed]);
        }
    }

    std::size_t length_;
    std::vector<number> roots_;
};

/// A square of numbers, some rows with each rank. Where the ranks do not divide the size the last
/// ones have fewer rows, or none; blocks are of equal size all the same, and partly unused.
class distributed_square {
public:
    distributed_square(const selion::world& world, std::size_t size)
        : world_(&world),
          size_(size),
          block_((size + world.size() - 1) / world.size()),
          first_(std::min(world.rank() * block_, size)),
          rows_(std::min(first_ + block_, size) - first_),
          values_(rows_ * size),
          to_each_(block_ * block_ * world.size()),
          from_each_(to_each_.size()),
          transform_(size) {}

    std::size_t first_row() const { return first_; }
    std::size_t rows() const { return rows_; }
    std::span<number> row(std::size_t own) {
        return std::span(values_).subspan(own * size_, size_);
    }

    void transform_rows(bool is_backwards) {
        for (std::size_t i = 0; i < rows_; ++i) transform_(row(i), is_backwards);
    }

    /// Collective: what were columns are rows now.
    void transpose() {
        for (std::size_t i = 0; i < rows_; ++i) {
            for (std::size_t j = 0; j < size_; ++j) {
                // Turned over while it is packed: so what comes can be taken row by row.
                to_each_[place(j / block_, j % block_, i)] = values_[i * size_ + j];
            }
        }
        world_->exchange(to_each_, from_each_);
        for (std::size_t i = 0; i < rows_; ++i) {
            for (std::size_t j = 0; j < size_; ++j) {
                values_[i * size_ + j] = from_each_[place(j / block_, i, j % block_)];
            }
        }
        selion::charge(selion::copied(2 * values_.size() * sizeof(number)));
    }

private:
    std::size_t place(std::size_t rank, std::size_t row, std::size_t column) const {
        return (rank * block_ + row) * block_ + column;
    }

    const selion::world* world_;
    std::size_t size_;
    std::size_t block_;
    std::size_t first_;
    std::size_t rows_;
    std::vector<number> values_;
    std::vector<number> to_each_;
    std::vector<number> from_each_;
    row_transform transform_;
};

/// What is transformed: noise, a function of the place alone.
number input(std::size_t row, std::size_t column, std::size_t size) {
    const std::size_t key = 2 * (row * size + column);
    return {examples::random_unit(key) - 0.5, examples::random_unit(key + 1) - 0.5};
}

/// One number of the transform, by its definition.
number direct_transform(std::size_t v, std::size_t u, std::size_t size) {
    number sum = 0;
    for (std::size_t y = 0; y < size; ++y) {
        for (std::size_t x = 0; x < size; ++x) {
            const auto turn = static_cast<double>((v * y + u * x) % size);
            sum += input(y, x, size) *
                   std::polar(1.0, -2 * std::numbers::pi * turn / static_cast<double>(size));
        }
    }
    return sum;
}

/// Does not depend on who has which rows, and changes with every bit.
std::uint64_t checksum(distributed_square& square, std::size_t size) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < square.rows(); ++i) {
        for (std::size_t j = 0; j < size; ++j) {
            const number value = square.row(i)[j];
            const std::uint64_t place = (square.first_row() + i) * size + j;
            sum += examples::scatter(std::bit_cast<std::uint64_t>(value.real()) +
                                     examples::random_bits(2 * place));
            sum += examples::scatter(std::bit_cast<std::uint64_t>(value.imag()) +
                                     examples::random_bits(2 * place + 1));
        }
    }
    return sum;
}

int transform(selion::world& world, std::size_t size) {
    distributed_square square(world, size);
    for (std::size_t i = 0; i < square.rows(); ++i) {
        for (std::size_t j = 0; j < size; ++j) {
            square.row(i)[j] = input(square.first_row() + i, j, size);
        }
    }

    square.transform_rows(false);
    square.transpose();
    square.transform_rows(false);  // rows are columns of the transform now

    // Each rank compares one number of its own with the definition.
    double error = 0;
    if (square.rows() > 0) {
        const std::size_t own = examples::random_bits(world.rank()) % square.rows();
        const std::size_t other = examples::random_bits(world.rank() + 1) % size;
        error = std::abs(square.row(own)[other] -
                         direct_transform(other, square.first_row() + own, size));
    }
    const double direct_error = world.all_reduce(error, selion::maximum);
    const std::uint64_t sum = world.all_reduce(checksum(square, size), selion::plus);

    square.transform_rows(true);
    square.transpose();
    square.transform_rows(true);
    const double scale = 1 / (static_cast<double>(size) * static_cast<double>(size));
    error = 0;
    for (std::size_t i = 0; i < square.rows(); ++i) {
        for (std::size_t j = 0; j < size; ++j) {
            const number back = scale * square.row(i)[j];
            // Unlike std::max this one does not pass over what is no number.
            error = selion::maximum(error, std::abs(back - input(square.first_row() + i, j, size)));
        }
    }
    const double inverse_error = world.all_reduce(error, selion::maximum);

    if (world.rank() != 0) return 0;
    // Rounding: about 10^-16 of the largest numbers, which grow with the size.
    const double allowed = 1e-14 * static_cast<double>(size);
    if (!(direct_error <= 100 * allowed) || !(inverse_error <= allowed)) {
        std::fprintf(stderr,
                     "fft_transpose: the transform is off by %.3g, and there and back by %.3g\n",
                     direct_error, inverse_error);
        return 1;
    }
    std::printf("%zu x %zu on %u ranks: checksum 0x%016llx\n", size, size, world.size(),
                static_cast<unsigned long long>(sum));
    std::printf(
        "equal to the definition where it was looked at, and to the input after going "
        "back\n");
    return examples::printed("fft_transpose", 0);
}

constexpr const char* help = R"(fft_transpose: a two-dimensional Fourier transform

  --size N   rows and columns, a power of two from 2 to 4096 [64]
  --help     print this

It is compared with the definition at one place for each rank, and with the input after going back.
SELION_MACHINE chooses where it runs. Exit status: 0, 1 if it is wrong, 2 for an argument or
an output that cannot be used.
)";

}  // namespace

int main(int argc, char** argv) {
    std::size_t size = 64;
    examples::command_line line("fft_transpose", help);
    line.power_of_two("--size", size, 2, 4096);
    if (const auto status = line.read(argc, argv)) return *status;
    return selion::run(argc, argv, [&](selion::world& world) { return transform(world, size); });
}
