// SPDX-License-Identifier: Apache-2.0
//
// Conjugate gradients on a sparse matrix, from a Matrix Market file or of Poisson's equation. The
// rows are divided over the ranks; each reads what its rows need of the search direction.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <selion/selion.hpp>

#include "../command_line.hpp"
#include "../printed.hpp"
#include "matrix_market.hpp"
#include "solver.hpp"
#include "sparse_matrix.hpp"

namespace conjugate_gradients {

namespace {

struct settings {
    std::string matrix_file;  ///< empty: Poisson's equation
    std::size_t side = 0;     ///< of which; 0: not said
    std::uint32_t digits = 8;
    std::uint32_t iterations = 10000;
};

/// What rank 0 says of the result. @return the exit status.
int report(const sparse_matrix& matrix, const spread_vector& solution, const outcome& result,
           const settings& chosen) {
    // Residuals are told as --digits asks for them: in parts of the length of b.
    const double length = std::sqrt(static_cast<double>(matrix.rows()));
    switch (result.how) {
        case outcome::end::converged: break;
        case outcome::end::gave_up:
            std::fprintf(stderr,
                         "conjugate_gradients: the residual is still %.3g after %u iterations\n",
                         result.residual / length, result.iterations);
            return 1;
        case outcome::end::not_definite:
            std::fprintf(
                stderr,
                "conjugate_gradients: the matrix is not positive definite, as iteration %u "
                "shows\n",
                result.iterations + 1);
            return 1;
    }
    std::vector<double> x(matrix.rows());
    solution.read({{0}, {x.size()}}, x);
    const double residual = true_residual(matrix, x) / length;
    // The recurrence goes astray a little, since every step of it is rounded.
    if (!(residual <= 10 * std::pow(10.0, -static_cast<double>(chosen.digits)))) {
        std::fprintf(stderr,
                     "conjugate_gradients: the recurrence says %.3g, but the residual is %.3g\n",
                     result.residual / length, residual);
        return 1;
    }
    double sum = 0;
    for (const double element : x) sum += element;
    std::printf("%u iterations: residual %.3e, by the recurrence %.3e\n", result.iterations,
                residual, result.residual / length);
    std::printf("sum of the solution %.17g\n", sum);
    return 0;
}

int work(selion::world& world, const sparse_matrix& matrix, const settings& chosen) {
    const division rows(matrix.rows(), world.size());
    if (world.rank() == 0) {
        std::printf("%s: %zu rows, %zu entries, on %u ranks\n",
                    chosen.matrix_file.empty() ? "Poisson's equation" : chosen.matrix_file.c_str(),
                    matrix.rows(), matrix.entries(), world.size());
    }
    const spread_vector solution(
        world, {matrix.rows()},
        selion::on_grid(selion::block_cyclic(rows.rows_of_rank(), world.size())), "solution");
    const limits until{std::pow(10.0, -static_cast<double>(chosen.digits)), chosen.iterations};
    const outcome result = solve(world, matrix, rows, solution, until);
    world.barrier();  // the solution is there
    int status = 0;
    if (world.rank() == 0) {
        status = examples::printed("conjugate_gradients", report(matrix, solution, result, chosen));
    }
    selion::deallocate(world, solution);
    return status;
}

constexpr const char* help = R"(conjugate_gradients: solves A x = b, where all elements of b are 1

  --matrix FILE    A, a Matrix Market file: coordinate, symmetric, positive definite
  --poisson SIDE   A of Poisson's equation on SIDE x SIDE points, 1 to 2000 [64]
  --digits N       until the residual is below 10^-N times the length of b, 1 to 14 [8]
  --iterations N   at most [10000]
  --help           print this

The result is the same for any number of ranks, and its residual is computed from A and x once more
by a plain loop. SELION_MACHINE chooses where it runs. Exit status: 0, 1 if that residual is too
large, there are too many iterations or these show that the matrix is not positive definite, 2 for
an argument, a matrix or an output that cannot be used.
)";

}  // namespace

}  // namespace conjugate_gradients

int main(int argc, char** argv) {
    using namespace conjugate_gradients;
    settings chosen;
    examples::command_line line("conjugate_gradients", help);
    line.text("--matrix", chosen.matrix_file);
    line.number<std::size_t>("--poisson", chosen.side, 1, 2000);
    line.number<std::uint32_t>("--digits", chosen.digits, 1, 14);
    line.number<std::uint32_t>("--iterations", chosen.iterations, 1, 1'000'000'000);
    if (const auto status = line.read(argc, argv)) return *status;
    if (!chosen.matrix_file.empty() && chosen.side != 0) {
        return line.refuse("choose one matrix: --matrix FILE or --poisson SIDE");
    }
    if (chosen.side == 0) chosen.side = 64;

    // What can be wrong with the matrix is found before there are ranks. Where ranks are processes
    // each of them comes this way as well, so all have the matrix.
    sparse_matrix matrix;
    try {
        matrix = chosen.matrix_file.empty() ? make_poisson(chosen.side)
                                            : read_matrix_market(chosen.matrix_file);
    } catch (const bad_file& wrong) {
        return line.refuse(wrong.what());
    }
    if (const auto obstacle = find_obstacle(matrix)) {
        return line.refuse(chosen.matrix_file + ": " + *obstacle);
    }
    return selion::run(argc, argv,
                       [&](selion::world& world) { return work(world, matrix, chosen); });
}
