// SPDX-License-Identifier: Apache-2.0
#include "multiplication.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace software_cache {
namespace {

using cached_matrix = selion::cached_array<double, 2>;
using plain_matrix = selion::spread_array<double, 2>;

/// What a local product takes for a floating-point operation, where the machine's time for one
/// does not hold, which is of the naive kernel: assumed, because the source gives no rate of its
/// blocked kernels. Compilers of the time reached some 30 MFLOPS on such a processor with blocks in
/// its cache, and assembler some 150.
constexpr std::int64_t blocked_flop_ps = 33'000;
constexpr std::int64_t optimized_flop_ps = 6'700;

double first_factor(std::size_t i, std::size_t j) {
    return static_cast<double>((i * 3 + j) % 7) - 3;
}
double second_factor(std::size_t i, std::size_t j) {
    return static_cast<double>((i + j * 5) % 11) - 5;
}

/// Allocated one after another. Their order makes a difference only where several lie in one
/// block: at 8 x 8 elements, where the published misses want A behind the others.
template <class Matrix>
struct matrices {
    Matrix c;
    Matrix b;
    Matrix a;
};

/// Split-C's `for_my_2D`: the caller's elements, in their order in its memory.
template <class Function>
void for_my_elements(const selion::spread_layout<2>& layout, std::uint32_t rank,
                     const Function& what) {
    for (std::size_t number = 0; number < layout.tiles_of(rank); ++number) {
        const selion::spread_box<2> tile = layout.tile_of(rank, number).elements;
        for (std::size_t i = 0; i < tile.extents[0]; ++i) {
            for (std::size_t j = 0; j < tile.extents[1]; ++j) {
                what(tile.first[0] + i, tile.first[1] + j);
            }
        }
    }
}

/// In the naive version each processor writes its own part; in the others processor 0 writes all,
/// as the source says of its other program. Only so do the published hits come out.
template <class Matrix>
void fill(selion::world& world, const matrices<Matrix>& all, const multiplication& what) {
    const auto write = [&](std::size_t i, std::size_t j) {
        all.a(i, j) = first_factor(i, j);
        all.b(i, j) = second_factor(i, j);
        all.c(i, j) = 0.0;
    };
    if (what.how == version::naive) {
        return for_my_elements(all.c.layout(), world.rank(), write);
    }
    if (world.rank() != 0) return;
    for (std::size_t i = 0; i < what.d; ++i) {
        for (std::size_t j = 0; j < what.d; ++j) write(i, j);
    }
}

/// What plain Split-C takes for those of two factors that are local.
void charge_local(const matrices<plain_matrix>& all, std::size_t i, std::size_t k, std::size_t j) {
    if (all.a.to_local(i, k) != nullptr) selion::charge(plain_access_work);
    if (all.b.to_local(k, j) != nullptr) selion::charge(plain_access_work);
}

/// The source's kernel. Starting points are staggered.
template <class Matrix>
void multiply_naively(selion::world& world, const matrices<Matrix>& all, std::size_t d) {
    for_my_elements(all.c.layout(), world.rank(), [&](std::size_t i, std::size_t j) {
        double sum = all.c(i, j);
        std::size_t kk = world.rank() % d;
        for (std::size_t k = 0; k < d; ++k) {
            if constexpr (std::is_same_v<Matrix, plain_matrix>) charge_local(all, i, kk, j);
            sum = sum + all.a(i, kk) * all.b(kk, j);
            selion::charge(selion::flops(2));
            if (++kk == d) kk = 0;
        }
        all.c(i, j) = sum;
    });
}

void add_product(std::size_t b, std::vector<double>& c, const std::vector<double>& left,
                 const std::vector<double>& right) {
    for (std::size_t i = 0; i < b; ++i) {
        for (std::size_t k = 0; k < b; ++k) {
            const double factor = left[i * b + k];
            for (std::size_t j = 0; j < b; ++j) c[i * b + j] += factor * right[k * b + j];
        }
    }
}

/// Blocks are read by split-phase bulk reads, without staggering.
template <class Matrix>
void multiply_in_blocks(selion::world& world, const matrices<Matrix>& all,
                        const multiplication& what) {
    const std::size_t b = what.b;
    const std::int64_t flop_ps = what.is_optimized ? optimized_flop_ps : blocked_flop_ps;
    const auto flops = static_cast<std::int64_t>(2 * b * b * b);
    std::vector<double> left(b * b);
    std::vector<double> right(b * b);
    const selion::spread_layout<2>& layout = all.c.layout();
    for (std::size_t number = 0; number < layout.tiles_of(world.rank()); ++number) {
        const auto [i, j] = layout.tile_of(world.rank(), number).elements.first;
        std::vector<double> sum(b * b, 0.0);
        for (std::size_t k = 0; k < what.d; k += b) {
            selion::transfers under_way;
            all.a.get(under_way, {{i, k}, {b, b}}, left);
            all.b.get(under_way, {{k, j}, {b, b}}, right);
            under_way.sync();
            add_product(b, sum, left, right);
            selion::charge({.picoseconds = flop_ps * flops});
        }
        for (std::size_t ii = 0; ii < b; ++ii) {
            for (std::size_t jj = 0; jj < b; ++jj) all.c(i + ii, j + jj) = sum[ii * b + jj];
        }
    }
}

/// Of some of the caller's elements, from the definition.
template <class Matrix>
double largest_error(selion::world& world, const Matrix& c, std::size_t d) {
    constexpr std::size_t looked_at = 61;
    double largest = 0;
    std::size_t number = 0;
    const std::size_t mine = d * d / world.size() + 1;
    const std::size_t step = std::max<std::size_t>(mine / looked_at, 1);
    for_my_elements(c.layout(), world.rank(), [&](std::size_t i, std::size_t j) {
        if (number++ % step != 0) return;
        double expected = 0;
        for (std::size_t k = 0; k < d; ++k) expected += first_factor(i, k) * second_factor(k, j);
        largest = std::max(largest, std::abs(expected - c(i, j)));
    });
    return largest;
}

template <class Matrix, class Count>
multiplied run(selion::world& world, const matrices<Matrix>& all, const multiplication& what,
               const setting& how, std::uint32_t repetition, const Count& count) {
    fill(world, all, what);
    begin_at_random(world, how, repetition);
    const std::int64_t begin_ps = world.now_ps();
    if (what.how == version::naive) {
        multiply_naively(world, all, what.d);
    } else {
        multiply_in_blocks(world, all, what);
    }
    multiplied done;
    if constexpr (requires { all.a.accesses(); }) done.misses_of_a = all.a.accesses().read_misses;
    done.own = count();
    world.barrier();
    done.seconds = static_cast<double>(world.now_ps() - begin_ps) * 1e-12;
    done.largest_error = world.all_reduce(largest_error(world, all.c, what.d), selion::maximum);
    world.barrier();
    return done;
}

}  // namespace

multiplied multiply(selion::world& world, const multiplication& what, const setting& how,
                    std::uint32_t repetition) {
    const selion::coordinates<2> extents{what.d, what.d};
    const auto tile = selion::tiles(what.b, what.b);
    if (how.block_bytes == 0) {
        const auto make = [&](const char* name) {
            return plain_matrix(world, extents, tile, name);
        };
        const matrices<plain_matrix> all{make("C"), make("B"), make("A")};
        const multiplied done =
            run(world, all, what, how, repetition, [] { return read_counts{}; });
        for (const plain_matrix* one : {&all.c, &all.b, &all.a}) selion::deallocate(world, *one);
        return done;
    }
    const selion::spread_layout<2> layout(extents, tile, world.size());
    const selion::coherent_space space(world,
                                       how.base_offset + 3 * sizeof(double) * layout.local_size(),
                                       {.block_bytes = how.block_bytes,
                                        .protocol = selion::cache_protocol::always,
                                        .prefetch = how.prefetch,
                                        .has_statistics = how.has_statistics});
    space.skip(how.base_offset);
    const auto make = [&](const char* name) { return cached_matrix(space, extents, tile, name); };
    const matrices<cached_matrix> all{make("C"), make("B"), make("A")};
    const multiplied done =
        run(world, all, what, how, repetition, [&] { return counts_of(space); });
    selion::deallocate(world, space);
    return done;
}

}  // namespace software_cache
