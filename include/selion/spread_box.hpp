// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>

#include <selion/detail/export.hpp>
#include <selion/distribution.hpp>
#include <selion/strided.hpp>

namespace selion {

/// Elements [first, first + extents) of each dimension.
template <std::size_t N>
struct spread_box {
    coordinates<N> first;
    coordinates<N> extents;
    bool operator==(const spread_box&) const = default;
};

template <std::size_t N>
constexpr std::size_t size_of(const spread_box<N>& box) {
    std::size_t size = 1;
    for (const std::size_t extent : box.extents) size *= extent;
    return size;
}

/// Elements from one index to the next of each dimension, where a block lies row by row.
template <std::size_t N>
constexpr coordinates<N> row_major(const coordinates<N>& extents) {
    coordinates<N> strides;
    std::size_t inner = 1;
    for (std::size_t d = N; d-- > 0;) {
        strides[d] = inner;
        inner *= extents[d];
    }
    return strides;
}

namespace detail {

/// The next index of a box whose first is all zero, the last dimension first.
/// @return false after the last.
template <std::size_t N>
constexpr bool advance(coordinates<N>& index, const coordinates<N>& extents) {
    for (std::size_t d = N; d-- > 0;) {
        if (++index[d] < extents[d]) return true;
        index[d] = 0;
    }
    return false;
}

struct erased_box {
    std::span<const std::size_t> first;
    std::span<const std::size_t> extents;
    std::span<const std::size_t> array;  ///< its extents
};
/// Ends the job where a box is not inside of its array, or does not have so many elements.
SELION_API void check_box(std::string_view array, const erased_box& box, std::size_t elements,
                          std::source_location site);

template <std::size_t N>
void check_box_of([[maybe_unused]] std::string_view array,
                  [[maybe_unused]] const coordinates<N>& extents,
                  [[maybe_unused]] const spread_box<N>& box, [[maybe_unused]] std::size_t elements,
                  [[maybe_unused]] std::source_location site) {
    if constexpr (SELION_CHECK_LEVEL >= 1) {
        check_box(array, {box.first, box.extents, extents}, elements, site);
    }
}

/// What a box and a tile have in common: rows, and how they lie on both sides.
template <std::size_t N>
class box_part {
public:
    std::uint32_t rank = 0;
    std::size_t in_rank = 0;  ///< elements from the start of the rank's part to the first one
    std::size_t in_box = 0;   ///< and from the start of the box's memory
    std::size_t row = 1;      ///< elements that follow each other on both sides

    /// @param extents of the part.
    constexpr void set_shape(const coordinates<N>& extents, const coordinates<N>& in_tile,
                             const coordinates<N>& in_memory) {
        for (std::size_t d = N; d-- > 0;) {
            const bool goes_on = outer_ == 0 && in_tile[d] == row && in_memory[d] == row;
            if (goes_on) {
                row *= extents[d];
            } else {
                to_memory_[outer_] = {extents[d], static_cast<std::ptrdiff_t>(in_memory[d]),
                                      static_cast<std::ptrdiff_t>(in_tile[d])};
                to_tile_[outer_] = {extents[d], static_cast<std::ptrdiff_t>(in_tile[d]),
                                    static_cast<std::ptrdiff_t>(in_memory[d])};
                ++outer_;
            }
        }
    }
    /// Dimensions outside of rows, as `get_strided` and `put_strided` want them.
    std::span<const stride> to_memory() const { return {to_memory_.data(), outer_}; }
    std::span<const stride> to_tile() const { return {to_tile_.data(), outer_}; }
    /// Calls `what` for each row: elements to its first one in the rank's part, and in the box's
    /// memory.
    template <class Function>
    void for_rows(const Function& what) const {
        coordinates<N> count{};
        count.fill(1);
        for (std::size_t d = 0; d < outer_; ++d) count[N - 1 - d] = to_memory_[d].count;
        coordinates<N> at{};
        do {
            std::size_t rank_place = in_rank;
            std::size_t box_place = in_box;
            for (std::size_t d = 0; d < outer_; ++d) {
                rank_place += at[N - 1 - d] * static_cast<std::size_t>(to_memory_[d].source);
                box_place += at[N - 1 - d] * static_cast<std::size_t>(to_memory_[d].target);
            }
            what(rank_place, box_place);
        } while (advance(at, count));
    }

private:
    std::size_t outer_ = 0;
    std::array<stride, N> to_memory_ = {};
    std::array<stride, N> to_tile_ = {};
};

/// Calls `what` with a `box_part` for each tile that a box meets.
/// @param strides of the box's memory, elements.
template <std::size_t N, class Layout, class Function>
void for_parts(const Layout& layout, const spread_box<N>& box, const coordinates<N>& strides,
               const Function& what) {
    const coordinates<N> tile = layout.tile_extents();
    coordinates<N> count;
    for (std::size_t d = 0; d < N; ++d) {
        if (box.extents[d] == 0) return;
        count[d] = (box.first[d] + box.extents[d] - 1) / tile[d] - box.first[d] / tile[d] + 1;
    }
    coordinates<N> at{};
    do {
        coordinates<N> first;
        coordinates<N> extents;
        box_part<N> part;
        for (std::size_t d = 0; d < N; ++d) {
            const std::size_t begin = (box.first[d] / tile[d] + at[d]) * tile[d];
            const std::size_t end = box.first[d] + box.extents[d];
            first[d] = begin < box.first[d] ? box.first[d] : begin;
            extents[d] = (end < begin + tile[d] ? end : begin + tile[d]) - first[d];
            part.in_box += (first[d] - box.first[d]) * strides[d];
        }
        const auto [rank, local] = layout.place_of(first);
        part.rank = rank;
        part.in_rank = local;
        part.set_shape(extents, row_major(tile), strides);
        what(part);
    } while (advance(at, count));
}

}  // namespace detail
}  // namespace selion
