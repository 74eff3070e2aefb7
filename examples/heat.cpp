// SPDX-License-Identifier: Apache-2.0
//
// Heat spreads over a square plate whose edge is held at fixed temperatures: explicit steps of the
// heat equation on a two-dimensional spread array. Each rank owns a tile and reads, in each step,
// the tile with a frame of one cell round it, whoever owns that.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <selion/selion.hpp>

#include "command_line.hpp"
#include "printed.hpp"

namespace {

using plate = selion::spread_array<double, 2>;
using box = selion::spread_box<2>;

struct settings {
    std::size_t size = 128;  ///< cells of each side
    std::uint32_t steps = 500;
    std::string picture;  ///< file; empty: none
};

/// Temperature at the start, and for ever at the edge: the upper edge is hot, a part of the left
/// one is warm.
double first_temperature(std::size_t row, std::size_t column, std::size_t size) {
    if (row == 0) return 100;
    if (column == 0 && row > size / 2) return 50;
    return 0;
}

/// One step of one cell. `cell` points to it; rows lie `stride` apart. A quarter of the way is the
/// longest stable step.
double next_temperature(const double* cell, std::size_t stride) {
    const double around = (cell[-1] + cell[1]) + (*(cell - stride) + cell[stride]);
    return *cell + 0.2 * (around - 4 * *cell);
}

/// The reference: one plain loop over the whole plate.
std::vector<double> run_sequentially(const settings& chosen) {
    const std::size_t n = chosen.size;
    std::vector<double> now(n * n);
    for (std::size_t i = 0; i < n * n; ++i) now[i] = first_temperature(i / n, i % n, n);
    std::vector<double> next = now;
    for (std::uint32_t step = 0; step < chosen.steps; ++step) {
        for (std::size_t row = 1; row + 1 < n; ++row) {
            for (std::size_t column = 1; column + 1 < n; ++column) {
                next[row * n + column] = next_temperature(&now[row * n + column], n);
            }
        }
        now.swap(next);
    }
    return now;
}

/// The ranks as a grid that is as square as their number allows: short frames, little to read.
std::array<std::size_t, 2> grid_of(std::size_t ranks) {
    std::size_t rows = 1;
    for (std::size_t divisor = 1; divisor * divisor <= ranks; ++divisor) {
        if (ranks % divisor == 0) rows = divisor;
    }
    return {rows, ranks / rows};
}

/// A range of one dimension and its neighbours, as far as there are any.
struct widened {
    widened(std::size_t first, std::size_t count, std::size_t size)
        : begin(first == 0 ? 0 : first - 1), end(std::min(first + count + 1, size)) {}
    std::size_t begin;
    std::size_t end;
};

/// New temperatures of the caller's tile, from those of `before`. @param seen memory to work in.
void advance(const plate& before, const selion::spread_tile<double, 2>& tile,
             std::vector<double>& seen) {
    const auto [first, extents] = tile.elements();
    const widened rows(first[0], extents[0], before.extent(0));
    const widened columns(first[1], extents[1], before.extent(1));
    const box framed{{rows.begin, columns.begin},
                     {rows.end - rows.begin, columns.end - columns.begin}};
    const std::size_t stride = framed.extents[1];
    seen.resize(size_of(framed));
    // One call reads what lies with up to nine ranks, the own part among them.
    before.read(framed, seen);

    tile.for_each([&](double& cell, std::size_t row, std::size_t column) {
        const double* const old = &seen[(row - rows.begin) * stride + (column - columns.begin)];
        const bool is_inner = row != 0 && row + 1 != before.extent(0) && column != 0 &&
                              column + 1 != before.extent(1);
        cell = is_inner ? next_temperature(old, stride) : *old;
    });
    selion::charge((selion::flops(6) + selion::loads(5) + selion::stores(1)) *
                   size_of(tile.elements()));
}

/// A PPM picture: two lines of text, then three bytes for each cell. No other format needs so
/// little code; most viewers show it, and all converters read it. (An SVG would need an element for
/// each cell, a PNG a library.)
bool write_picture(const std::string& file, const std::vector<double>& cells, std::size_t size) {
    std::ofstream picture(file, std::ios::binary);
    picture << "P6\n" << size << ' ' << size << "\n255\n";
    for (const double temperature : cells) {
        // From black through red and yellow to white.
        const double heat = 3 * temperature / 100;
        for (int channel = 0; channel < 3; ++channel) {
            const double share = std::clamp(heat - channel, 0.0, 1.0);
            picture.put(static_cast<char>(static_cast<unsigned char>(255 * share + 0.5)));
        }
    }
    picture.close();
    return picture.good();
}

/// What rank 0 says of the result. @return the exit status.
int report(const selion::world& world, const plate& last, const settings& chosen) {
    const std::size_t n = chosen.size;
    std::vector<double> cells(n * n);
    last.read({{0, 0}, {n, n}}, cells);
    if (!chosen.picture.empty() && !write_picture(chosen.picture, cells, n)) {
        std::fprintf(stderr, "heat: %s cannot be written\n", chosen.picture.c_str());
        return 2;
    }
    const std::vector<double> expected = run_sequentially(chosen);
    double sum = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        sum += cells[i];
        if (std::bit_cast<std::uint64_t>(cells[i]) == std::bit_cast<std::uint64_t>(expected[i])) {
            continue;
        }
        std::fprintf(stderr, "heat: cell (%zu, %zu) is %.17g, sequentially %.17g\n", i / n, i % n,
                     cells[i], expected[i]);
        return 1;
    }
    std::printf("%zu x %zu cells, %u steps on %u ranks: mean temperature %.12f\n", n, n,
                chosen.steps, world.size(), sum / static_cast<double>(n * n));
    std::printf("every cell equals the sequential run, bit for bit\n");
    return 0;
}

/// Rank 0 finds out, before the work, whether it will be able to write the picture: a file that is
/// there stays as it is until then. @return the same at all ranks.
bool can_write_picture(selion::world& world, const settings& chosen) {
    bool can = true;
    if (world.rank() == 0) can = std::ofstream(chosen.picture, std::ios::app).good();
    if (!can) std::fprintf(stderr, "heat: %s cannot be written\n", chosen.picture.c_str());
    return world.broadcast(can, 0);
}

int solve(selion::world& world, const settings& chosen) {
    if (!chosen.picture.empty() && !can_write_picture(world, chosen)) return 2;
    const std::size_t n = chosen.size;
    const auto [grid_rows, grid_columns] = grid_of(world.size());
    const auto layout = selion::on_grid(selion::block(grid_rows), selion::block(grid_columns));
    // Two plates in turn: nobody writes what a neighbour may still read.
    std::array plates{plate(world, {n, n}, layout, "even steps"),
                      plate(world, {n, n}, layout, "odd steps")};
    plates[0].for_mine([n](double& cell, std::size_t row, std::size_t column) {
        cell = first_temperature(row, column, n);
    });
    world.barrier();

    std::vector<double> seen;
    for (std::uint32_t step = 0; step < chosen.steps; ++step) {
        const plate& before = plates[step % 2];
        const plate& after = plates[1 - step % 2];
        for (const auto& tile : after.my_tiles()) advance(before, tile, seen);
        world.barrier();
    }

    int status = 0;
    if (world.rank() == 0) {
        status = examples::printed("heat", report(world, plates[chosen.steps % 2], chosen));
    }
    for (const plate& one : plates) selion::deallocate(world, one);  // waits for rank 0
    return status;
}

constexpr const char* help = R"(heat: heat spreads over a square plate

  --size N         cells of each side, 3 to 4096 [128]
  --steps N        [500]
  --picture FILE   write the temperatures at the end as a picture, in PPM format
  --help           print this

The result is compared with a sequential run, bit for bit. SELION_MACHINE chooses where it runs.
Exit status: 0, 1 if a cell differs, 2 for an argument, a file or an output that cannot be used.
)";

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    examples::command_line line("heat", help);
    line.number<std::size_t>("--size", chosen.size, 3, 4096);
    line.number<std::uint32_t>("--steps", chosen.steps, 1, 1'000'000);
    line.text("--picture", chosen.picture);
    if (const auto status = line.read(argc, argv)) return *status;
    return selion::run(argc, argv, [&](selion::world& world) { return solve(world, chosen); });
}
