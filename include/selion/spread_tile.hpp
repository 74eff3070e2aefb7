// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include <selion/spread_box.hpp>
#include <selion/spread_layout.hpp>

namespace selion {

/// A tile of the caller's: elements that lie together in its memory, row by row.
template <class T, std::size_t N>
class spread_tile {
public:
    /// @param start place of its first element. @param strides of the memory, elements.
    constexpr spread_tile(T* start, const spread_box<N>& elements, const coordinates<N>& strides)
        : start_(start), elements_(elements), strides_(strides) {}

    /// Which elements of the array it has.
    constexpr const spread_box<N>& elements() const noexcept { return elements_; }
    constexpr T* data() const noexcept { return start_; }
    /// Elements of memory from one index to the next of each dimension.
    constexpr const coordinates<N>& strides() const noexcept { return strides_; }
    /// An element, counted from the tile's first. Not checked.
    template <std::integral... Index>
        requires(sizeof...(Index) == N)
    constexpr T& operator()(Index... index) const {
        return start_[distance({static_cast<std::size_t>(index)...})];
    }
    /// Calls `what` for each row with a span, and the indices of its first element in the array.
    template <class Function>
    void for_rows(Function&& what) const {
        coordinates<N> rows = elements_.extents;
        rows[N - 1] = 1;
        coordinates<N> at{};
        do {
            coordinates<N> first;
            for (std::size_t d = 0; d < N; ++d) first[d] = elements_.first[d] + at[d];
            what(std::span<T>(start_ + distance(at), elements_.extents[N - 1]), first);
        } while (detail::advance(at, rows));
    }
    /// Calls `what` for each element with it and its indices in the array.
    template <class Function>
    void for_each(Function&& what) const {
        for_rows([&](std::span<T> row, coordinates<N> index) {
            for (T& element : row) {
                call(what, element, index, std::make_index_sequence<N>());
                ++index[N - 1];
            }
        });
    }

private:
    constexpr std::size_t distance(const coordinates<N>& index) const {
        std::size_t elements = 0;
        for (std::size_t d = 0; d < N; ++d) elements += index[d] * strides_[d];
        return elements;
    }
    template <class Function, std::size_t... D>
    static void call(Function& what, T& element, const coordinates<N>& index,
                     std::index_sequence<D...>) {
        static_assert(std::is_invocable_v<Function&, T&, decltype(index[D])...>,
                      "selion: the function takes an element and its index in each dimension");
        what(element, index[D]...);
    }

    T* start_;
    spread_box<N> elements_;
    coordinates<N> strides_;
};

/// The tiles of one rank, in the order in which they lie in its memory.
template <class T, std::size_t N>
class spread_tiles {
public:
    spread_tiles(const spread_layout<N>& layout, T* start, std::uint32_t rank)
        : layout_(layout), start_(start), rank_(rank), count_(layout.tiles_of(rank)) {}

    class iterator {
    public:
        using value_type = spread_tile<T, N>;
        using difference_type = std::ptrdiff_t;
        iterator() = default;
        iterator(const spread_tiles* tiles, std::size_t number) : tiles_(tiles), number_(number) {}
        value_type operator*() const { return (*tiles_)[number_]; }
        iterator& operator++() {
            ++number_;
            return *this;
        }
        iterator operator++(int) { return {tiles_, number_++}; }
        bool operator==(const iterator&) const = default;

    private:
        const spread_tiles* tiles_ = nullptr;
        std::size_t number_ = 0;
    };
    iterator begin() const { return {this, 0}; }
    iterator end() const { return {this, count_}; }
    std::size_t size() const { return count_; }
    spread_tile<T, N> operator[](std::size_t number) const {
        const auto tile = layout_.tile_of(rank_, number);
        return {start_ + tile.local, tile.elements, row_major(layout_.tile_extents())};
    }

private:
    spread_layout<N> layout_;
    T* start_;
    std::uint32_t rank_;
    std::size_t count_;
};

}  // namespace selion
