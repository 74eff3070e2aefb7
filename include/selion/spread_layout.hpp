// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <selion/detail/divider.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/hash.hpp>
#include <selion/distribution.hpp>
#include <selion/spread_box.hpp>

namespace selion {

namespace detail {

/// One dimension of a layout.
struct spread_dimension {
    std::size_t extent;     ///< elements
    std::size_t tile;       ///< elements of one
    std::size_t ranks;      ///< that share the dimension; 0: no grid
    std::size_t tiles = 0;  ///< along it
    std::size_t local = 0;  ///< of those on one rank at most; of a grid
    bool operator==(const spread_dimension&) const = default;
};
/// Fills in what follows from the rest. @return tiles that one rank has at most; their elements can
/// be counted.
/// @error bad_argument, also for a grid of which a dimension has no ranks
SELION_API std::size_t complete_layout(std::span<spread_dimension> dimensions, std::size_t ranks,
                                       bool is_on_grid);
/// Tiles that are runs of so many elements. @error bad_argument
SELION_API void cut_into_runs(std::span<spread_dimension> dimensions, std::size_t length);

}  // namespace detail

/// Where each element of an array of N dimensions lies: on which rank, and which of its elements it
/// is there. A rank's tiles lie one behind the other, each in row-major order, and all have the
/// same size: of those at the end of a dimension a part may be unused.
template <std::size_t N>
class spread_layout {
public:
    struct place {
        std::uint32_t rank;
        std::size_t local;  ///< elements from the start of the rank's part
        bool operator==(const place&) const = default;
    };
    struct tile {
        spread_box<N> elements;  ///< without what is unused
        std::size_t local;       ///< of the first one
    };

    constexpr spread_layout() = default;
    /// @param extents elements of each dimension, from 1 to 2^32 - 1; of tiles that go to all ranks
    /// in turn there are at most as many. @param ranks there are. @error bad_argument
    spread_layout(const coordinates<N>& extents, const distribution<N>& how, std::size_t ranks) {
        for (std::size_t d = 0; d < N; ++d)
            dimensions_[d] = {extents[d], how.tile[d], how.ranks[d]};
        finish(ranks, how.is_on_grid);
    }
    spread_layout(const coordinates<N>& extents, const runs& how, std::size_t ranks) {
        for (std::size_t d = 0; d < N; ++d) dimensions_[d] = {extents[d], 0, 0};
        detail::cut_into_runs(dimensions_, how.length);
        finish(ranks, false);
    }

    /// Of one dimension: as `on_grid(how)`.
    spread_layout(const coordinates<N>& extents, const along& how, std::size_t ranks)
        requires(N == 1)
        : spread_layout(extents, on_grid(how), ranks) {}

    bool operator==(const spread_layout&) const = default;

    constexpr std::size_t extent(std::size_t dimension) const {
        return dimensions_[dimension].extent;
    }
    constexpr coordinates<N> extents() const { return of_all(&detail::spread_dimension::extent); }
    constexpr coordinates<N> tile_extents() const {
        return of_all(&detail::spread_dimension::tile);
    }
    /// Elements that every rank gives room to.
    constexpr std::size_t local_size() const { return local_tiles_ * tile_size_; }
    constexpr bool is_inside(const coordinates<N>& index) const {
        for (std::size_t d = 0; d < N; ++d) {
            if (index[d] >= dimensions_[d].extent) return false;
        }
        return true;
    }

    /// @pre the index is inside.
    constexpr place place_of(const coordinates<N>& index) const noexcept {
        if (are_single_in_turn_) return place_of_tile_in_turn(index);
        std::size_t within = 0;
        coordinates<N> at;
        for (std::size_t d = 0; d < N; ++d) {
            at[d] = by_tile_[d].quotient(index[d]);
            within = within * dimensions_[d].tile + (index[d] - at[d] * dimensions_[d].tile);
        }
        const auto [rank, slot] = place_of_tile(at);
        return {rank, slot * tile_size_ + within};
    }

    /// Tiles of a rank.
    constexpr std::size_t tiles_of(std::uint32_t rank) const {
        if (!has_grid()) return tiles_ / ranks_.by() + (rank < tiles_ % ranks_.by() ? 1 : 0);
        std::size_t count = rank < grid_size() ? 1 : 0;
        std::size_t rest = rank;
        for (std::size_t d = N; d-- > 0;) {
            const auto& one = dimensions_[d];
            const std::size_t mine = rest % one.ranks;
            rest /= one.ranks;
            count *= one.tiles / one.ranks + (mine < one.tiles % one.ranks ? 1 : 0);
        }
        return count;
    }
    /// @param number from 0 to `tiles_of(rank)` - 1.
    constexpr tile tile_of(std::uint32_t rank, std::size_t number) const {
        const coordinates<N> at =
            has_grid() ? tile_on_grid(rank, number) : tile_in_turn(number * ranks_.by() + rank);
        tile made{{}, place_of_tile(at).local * tile_size_};
        for (std::size_t d = 0; d < N; ++d) {
            const auto& one = dimensions_[d];
            const std::size_t first = at[d] * one.tile;
            made.elements.first[d] = first;
            made.elements.extents[d] =
                one.tile < one.extent - first ? one.tile : one.extent - first;
        }
        return made;
    }

    /// Differs, as good as surely, for layouts that differ.
    constexpr std::uint64_t fingerprint() const {
        std::uint64_t hash = detail::empty_hash;
        for (const auto& one : dimensions_) {
            for (const std::uint64_t number : {one.extent, one.tile, one.ranks}) {
                hash = detail::number_hash(number, hash);
            }
        }
        return hash;
    }

private:
    constexpr bool has_grid() const { return dimensions_[0].ranks != 0; }
    constexpr std::size_t grid_size() const {
        std::size_t size = 1;
        for (const auto& one : dimensions_) size *= one.ranks;
        return size;
    }
    constexpr coordinates<N> of_all(std::size_t detail::spread_dimension::*field) const {
        coordinates<N> all;
        for (std::size_t d = 0; d < N; ++d) all[d] = dimensions_[d].*field;
        return all;
    }
    void finish(std::size_t ranks, bool is_on_grid) {
        local_tiles_ = detail::complete_layout(dimensions_, ranks, is_on_grid);
        ranks_ = detail::divider(ranks);
        tiles_ = tile_size_ = 1;
        for (std::size_t d = 0; d < N; ++d) {
            by_tile_[d] = detail::divider(dimensions_[d].tile);
            by_ranks_[d] = detail::divider(has_grid() ? dimensions_[d].ranks : 1);
            tiles_ *= dimensions_[d].tiles;
            tile_size_ *= dimensions_[d].tile;
        }
        are_single_in_turn_ = !has_grid() && tile_size_ == 1;
    }

    constexpr place place_of_tile_in_turn(const coordinates<N>& at) const noexcept {
        std::size_t slot = at[0];
        for (std::size_t d = 1; d < N; ++d) slot = slot * dimensions_[d].tiles + at[d];
        const std::size_t turn = ranks_.quotient(slot);
        return {static_cast<std::uint32_t>(slot - turn * ranks_.by()), turn};
    }
    /// @return the rank, and how many of its tiles lie before.
    constexpr place place_of_tile(const coordinates<N>& at) const noexcept {
        std::size_t rank = 0;
        std::size_t slot = 0;
        if (!has_grid()) return place_of_tile_in_turn(at);
        for (std::size_t d = 0; d < N; ++d) {
            const auto& one = dimensions_[d];
            const std::size_t turn = by_ranks_[d].quotient(at[d]);
            rank = rank * one.ranks + (at[d] - turn * one.ranks);
            slot = slot * one.local + turn;
        }
        return {static_cast<std::uint32_t>(rank), slot};
    }
    constexpr coordinates<N> tile_in_turn(std::size_t number) const {
        coordinates<N> at;
        for (std::size_t d = N; d-- > 0;) {
            at[d] = number % dimensions_[d].tiles;
            number /= dimensions_[d].tiles;
        }
        return at;
    }
    constexpr coordinates<N> tile_on_grid(std::size_t rank, std::size_t number) const {
        coordinates<N> at;
        for (std::size_t d = N; d-- > 0;) {
            const auto& one = dimensions_[d];
            const std::size_t mine = rank % one.ranks;
            rank /= one.ranks;
            const std::size_t here = one.tiles / one.ranks + (mine < one.tiles % one.ranks ? 1 : 0);
            at[d] = number % here * one.ranks + mine;
            number /= here;
        }
        return at;
    }

    std::array<detail::spread_dimension, N> dimensions_ = {};
    std::array<detail::divider, N> by_tile_;
    std::array<detail::divider, N> by_ranks_;
    detail::divider ranks_;
    std::size_t tiles_ = 0;
    std::size_t tile_size_ = 0;
    std::size_t local_tiles_ = 0;
    bool are_single_in_turn_ = false;  ///< tiles of one element go to all ranks in turn
};

}  // namespace selion
