// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

/// How the elements of a spread array are dealt out to ranks. Elements that lie together on a rank
/// are a *tile*: so many of each dimension. Tiles go to all ranks in turn, or along the dimensions
/// of a grid of ranks.
namespace selion {

/// A number for each dimension: an index, or how many elements there are.
template <std::size_t N>
using coordinates = std::array<std::size_t, N>;

template <std::size_t N>
struct distribution {
    coordinates<N> tile;   ///< elements; 0, on a grid: the dimension's by its ranks, rounded up
    coordinates<N> ranks;  ///< of the grid, from 1
    bool is_on_grid = ranks != coordinates<N>{};  ///< false: all ranks in turn
};

/// Split-C's `A[n][m]::[b][c]`: tiles of b × c elements go to all ranks in turn, the last dimension
/// first: rank 0 has the first tile of the first row.
template <std::convertible_to<std::size_t>... Size>
constexpr distribution<sizeof...(Size)> tiles(Size... elements) {
    return {{static_cast<std::size_t>(elements)...}, {}};
}

/// UPC's `shared [B]`: runs of B elements in the order of memory (the last index runs first) go to
/// all ranks in turn. Where there are several dimensions a run is a part of a row
/// that divides it, whole rows that divide a plane, and so on.
struct runs {
    std::size_t length;  ///< 0, as in UPC's `shared []`: one run, all of it, rank 0's
};

/// One dimension of a grid.
struct along {
    std::size_t tile;
    std::size_t ranks;
};
/// A piece of ⌈n / ranks⌉ elements for each of so many ranks: the last ones may have fewer, or
/// none.
constexpr along block(std::size_t ranks) { return {0, ranks}; }
/// One element for each in turn.
constexpr along cyclic(std::size_t ranks) { return {1, ranks}; }
/// So many elements for each in turn.
constexpr along block_cyclic(std::size_t elements, std::size_t ranks) { return {elements, ranks}; }
/// Not divided.
constexpr along whole() { return {0, 1}; }

/// Each dimension by itself, over a grid of ranks that are numbered row by row. Ranks beyond the
/// grid have no elements.
template <std::same_as<along>... Dimension>
constexpr distribution<sizeof...(Dimension)> on_grid(Dimension... dimension) {
    return {{dimension.tile...}, {dimension.ranks...}, true};
}

}  // namespace selion
