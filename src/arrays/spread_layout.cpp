// SPDX-License-Identifier: Apache-2.0
#include "selion/spread_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "selion/error.hpp"

namespace selion::detail {
namespace {

constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void refuse(const std::string& why) {
    throw error(status::bad_argument, "spread array: " + why);
}

std::size_t divided_up(std::size_t number, std::size_t by) { return (number + by - 1) / by; }

/// A product that must stay below 2^32: indices of tiles are divided as such numbers.
std::size_t product(std::size_t left, std::size_t right, const char* what) {
    if (right != 0 && left > most / right) {
        refuse(fmt::format("too many {}: at most 4294967295", what));
    }
    return left * right;
}

/// @param elements of a tile or a run; what was negative has become very large.
void expect_size(std::size_t elements, const std::string& of_what) {
    if (elements <= static_cast<std::size_t>(PTRDIFF_MAX)) return;
    refuse(fmt::format("{} of {} elements; at most {} are legal", of_what,
                       static_cast<std::ptrdiff_t>(elements), PTRDIFF_MAX));
}

void expect_extent(std::span<const spread_dimension> dimensions, std::size_t number) {
    const std::size_t extent = dimensions[number].extent;
    if (extent == 0 || extent > most) {
        refuse(fmt::format("dimension {} has {} elements; legal: 1 to {}", number, extent, most));
    }
}

std::size_t complete_grid(std::span<spread_dimension> dimensions, std::size_t ranks) {
    std::size_t grid = 1;
    std::size_t local = 1;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
        spread_dimension& one = dimensions[d];
        if (one.ranks == 0) {
            refuse(fmt::format("dimension {} of the grid has no ranks; legal: 1 or more", d));
        }
        grid = product(grid, one.ranks, "ranks of the grid");
        if (one.tile == 0) one.tile = divided_up(one.extent, one.ranks);
        one.tiles = divided_up(one.extent, one.tile);
        one.local = divided_up(one.tiles, one.ranks);
        local = product(local, one.local, "tiles of a rank");
    }
    if (grid > ranks) {
        refuse(fmt::format("a grid of {} ranks, but there are {}", grid, ranks));
    }
    return local;
}

std::size_t complete_turns(std::span<spread_dimension> dimensions, std::size_t ranks) {
    std::size_t tiles = 1;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
        spread_dimension& one = dimensions[d];
        if (one.tile == 0) refuse(fmt::format("tiles have no elements along dimension {}", d));
        one.tiles = divided_up(one.extent, one.tile);
        tiles = product(tiles, one.tiles, "tiles");
    }
    return divided_up(tiles, ranks);
}

/// @param tiles of a rank.
void expect_countable(std::span<const spread_dimension> dimensions, std::size_t tiles) {
    std::size_t elements = tiles;
    for (const spread_dimension& one : dimensions) {
        if (__builtin_mul_overflow(elements, one.tile, &elements)) {
            refuse("a rank's part has more elements than can be counted");
        }
    }
}

}  // namespace

std::size_t complete_layout(std::span<spread_dimension> dimensions, std::size_t ranks,
                            bool is_on_grid) {
    if (ranks == 0) refuse("0 ranks; legal: 1 or more");
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
        expect_extent(dimensions, d);
        expect_size(dimensions[d].tile, fmt::format("dimension {} has tiles", d));
        // A tile is no longer than its dimension: what lies beyond would never be used.
        dimensions[d].tile = std::min(dimensions[d].tile, dimensions[d].extent);
    }
    const std::size_t tiles =
        is_on_grid ? complete_grid(dimensions, ranks) : complete_turns(dimensions, ranks);
    expect_countable(dimensions, tiles);
    return tiles;
}

void cut_into_runs(std::span<spread_dimension> dimensions, std::size_t length) {
    expect_size(length, "runs");
    std::size_t all = 1;
    for (const spread_dimension& one : dimensions) {
        if (__builtin_mul_overflow(all, one.extent, &all)) all = SIZE_MAX;
    }
    if (length >= all) length = 0;  // one run has everything
    std::size_t rest = length;
    for (std::size_t d = dimensions.size(); d-- > 0;) {
        expect_extent(dimensions, d);
        spread_dimension& one = dimensions[d];
        one.tile = length == 0 ? one.extent : std::min(rest, one.extent);
        const bool is_first = d == 0;
        const bool fits =
            one.tile == one.extent ? rest % one.extent == 0 : one.extent % one.tile == 0;
        if (length != 0 && !is_first && !fits) {
            refuse(
                fmt::format("runs of {} elements are neither equal parts of a row nor whole rows "
                            "that divide what the rows make together: dimension {} has {} elements",
                            length, d, one.extent));
        }
        rest = std::max<std::size_t>(rest / one.extent, 1);
    }
}

}  // namespace selion::detail
