// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>

#include <selion/array_name.hpp>
#include <selion/detail/export.hpp>
#include <selion/global_ptr.hpp>
#include <selion/memory.hpp>
#include <selion/spread_box.hpp>
#include <selion/spread_layout.hpp>
#include <selion/spread_reference.hpp>
#include <selion/spread_tile.hpp>
#include <selion/transfers.hpp>
#include <selion/world.hpp>

namespace selion {

namespace detail {

/// What messages tell of an array.
struct array_text {
    std::string_view name;
    std::span<const std::size_t> extents;
    bool is_slice = false;
};
[[noreturn]] SELION_API void end_job_for_index(const array_text& array,
                                               std::span<const std::size_t> index,
                                               std::source_location site);
/// Ends the job where ranks have given different layouts. Collective.
SELION_API void check_alike(const world& all, std::uint64_t layout, std::string_view array,
                            std::source_location site);
/// Ends the job where they differ.
SELION_API void check_extents(const array_text& from, const array_text& to,
                              std::source_location site);

template <std::size_t>
using index_again = spread_index;

/// Calls with as many indices as there are dimensions, each with its place in the program.
template <class Array, class Dimensions>
class indexed_access;
template <class Array, std::size_t... D>
class indexed_access<Array, std::index_sequence<D...>> {
public:
    /// @return a reference to an element, wherever it lies.
    auto operator()(index_again<D>... index) const {
        return self().at({index.value()...}, first_of(index...).site());
    }
    auto address(index_again<D>... index) const {
        return self().address_of({index.value()...}, first_of(index...).site());
    }
    /// Rank that the element belongs to.
    rank_id owner(index_again<D>... index) const {
        return self().address_of({index.value()...}, first_of(index...).site()).rank();
    }
    /// Its number among the elements of its owner.
    std::size_t local_index(index_again<D>... index) const {
        return self().local_of({index.value()...}, first_of(index...).site());
    }
    /// Split-C's `tolocal`: a plain pointer where the caller's process maps the element, else null.
    auto to_local(index_again<D>... index) const {
        return self().address_of({index.value()...}, first_of(index...).site()).local();
    }

private:
    const Array& self() const { return static_cast<const Array&>(*this); }
    static const spread_index& first_of(const spread_index& first, const auto&...) { return first; }
};

}  // namespace detail

/// An array of N dimensions whose elements lie with all ranks, as a `distribution` says; zeroed at
/// first. A small value that may be copied: copies are the same array.
template <transferable T, std::size_t N>
class spread_array
    : public detail::indexed_access<spread_array<T, N>, std::make_index_sequence<N>> {
public:
    using element_type = T;
    static constexpr std::size_t dimensions = N;

    spread_array() = default;
    /// Collective: allocates. Includes a barrier. @param how a `distribution`, or `runs`; of one
    /// dimension also `block`, `cyclic` and so on.
    /// @param name in messages about mistakes; its first 31 characters.
    /// @error bad_argument for a layout that is not possible, out_of_memory: on all ranks alike.
    /// @pre all ranks pass the same; the checking build compares.
    /// @cost the memory of `layout().local_size()` elements on every rank, also on those that own
    /// fewer or none.
    template <class Distribution>
    spread_array(const world& all, const coordinates<N>& extents, const Distribution& how,
                 std::string_view name = "a spread array",
                 std::source_location site = std::source_location::current())
        : layout_(extents, how, all.size()),
          base_(allocate<T>(all, layout_.local_size(), alignof(T), site)),
          name_(name) {
        if constexpr (SELION_CHECK_LEVEL >= 2) {
            detail::check_alike(all, layout_.fingerprint(), name, site);
        }
    }

    /// An array in memory that is there.
    /// @param base of `layout.local_size()` elements at the same place of every rank.
    static spread_array in_memory(const spread_layout<N>& layout, global_ptr<T> base,
                                  std::string_view name) {
        spread_array made;
        made.layout_ = layout;
        made.base_ = base;
        made.name_ = array_name(name);
        return made;
    }

    constexpr const spread_layout<N>& layout() const noexcept { return layout_; }
    constexpr coordinates<N> extents() const { return layout_.extents(); }
    constexpr std::size_t extent(std::size_t dimension) const { return layout_.extent(dimension); }
    constexpr std::string_view name() const noexcept { return name_.text(); }
    constexpr explicit operator bool() const noexcept { return static_cast<bool>(base_); }

    auto at(const coordinates<N>& index,
            std::source_location site = std::source_location::current()) const {
        return spread_reference<T>(address_of(index, site), site);
    }
    global_ptr<T> address_of(const coordinates<N>& index,
                             std::source_location site = std::source_location::current()) const {
        check(index, site);
        const auto [rank, local] = layout_.place_of(index);
        return base_.on(rank) + static_cast<std::ptrdiff_t>(local);
    }

    std::size_t local_of(const coordinates<N>& index,
                         std::source_location site = std::source_location::current()) const {
        check(index, site);
        return layout_.place_of(index).local;
    }

    /// The caller's elements, tile by tile, with those that tiles at the ends do not use.
    std::span<T> local() const { return {base().local(), layout_.local_size()}; }
    /// The caller's tiles, a range of `spread_tile`.
    spread_tiles<T, N> my_tiles() const {
        return {layout_, base().local(), detail::current_context->rank};
    }
    /// Split-C's `for_my_1D` and its like: calls `what` for each of the caller's elements, tile by
    /// tile and row by row, with the element and its index in each dimension.
    template <class Function>
    void for_mine(Function&& what) const {
        for (const auto& tile : my_tiles()) tile.for_each(what);
    }

    /// Starts to read a box into memory of the caller, row by row without gaps.
    /// @param into as many elements as the box has. @cost for each tile that it meets: a copy where
    /// that is mapped, else a message for each of its rows.
    void get(transfers& under_way, const spread_box<N>& box, std::span<T> into,
             std::source_location site = std::source_location::current()) const {
        check_box(box, into.size(), site);
        get(under_way, box, into.data(), row_major(box.extents), site);
    }
    /// The same into memory where elements lie `strides` apart in each dimension. Not checked.
    void get(transfers& under_way, const spread_box<N>& box, T* into, const coordinates<N>& strides,
             std::source_location site = std::source_location::current()) const {
        detail::for_parts(layout_, box, strides, [&](const auto& part) {
            under_way.get_strided(into + part.in_box, place_of(part), part.row, part.to_memory(),
                                  site);
        });
    }
    /// The same into a tile of the caller's, of any array.
    void get(transfers& under_way, const spread_tile<T, N>& into,
             std::source_location site = std::source_location::current()) const {
        check_box(into.elements(), size_of(into.elements()), site);
        get(under_way, into.elements(), into.data(), into.strides(), site);
    }
    /// Starts to write a box.
    void put(transfers& under_way, const spread_box<N>& box, std::span<const T> from,
             std::source_location site = std::source_location::current()) const {
        check_box(box, from.size(), site);
        put(under_way, box, from.data(), row_major(box.extents), site);
    }
    void put(transfers& under_way, const spread_box<N>& box, const T* from,
             const coordinates<N>& strides,
             std::source_location site = std::source_location::current()) const {
        detail::for_parts(layout_, box, strides, [&](const auto& part) {
            under_way.put_strided(place_of(part), from + part.in_box, part.row, part.to_tile(),
                                  site);
        });
    }
    void put(transfers& under_way, const spread_tile<T, N>& from,
             std::source_location site = std::source_location::current()) const {
        check_box(from.elements(), size_of(from.elements()), site);
        put(under_way, from.elements(), from.data(), from.strides(), site);
    }
    /// The same, and waits: Split-C's `bulk_read` and `bulk_write`.
    void read(const spread_box<N>& box, std::span<T> into,
              std::source_location site = std::source_location::current()) const {
        transfers under_way;
        get(under_way, box, into, site);
        under_way.sync(site);
    }
    void write(const spread_box<N>& box, std::span<const T> from,
               std::source_location site = std::source_location::current()) const {
        transfers under_way;
        put(under_way, box, from, site);
        under_way.sync(site);
    }

    /// Of the caller's part; null for no array.
    global_ptr<T> base() const noexcept {
        // The handle may have come from another rank.
        return base_ ? base_.on(detail::current_context->rank) : base_;
    }

private:
    global_ptr<T> place_of(const detail::box_part<N>& part) const {
        return base_.on(part.rank) + static_cast<std::ptrdiff_t>(part.in_rank);
    }
    void check([[maybe_unused]] const coordinates<N>& index,
               [[maybe_unused]] std::source_location site) const {
        if constexpr (SELION_CHECK_LEVEL >= 2) {
            if (layout_.is_inside(index)) return;
            detail::end_job_for_index({name(), layout_.extents()}, index, site);
        }
    }
    void check_box(const spread_box<N>& box, std::size_t elements,
                   std::source_location site) const {
        detail::check_box_of(name(), layout_.extents(), box, elements, site);
    }

    spread_layout<N> layout_;
    global_ptr<T> base_;  ///< of some rank's elements
    array_name name_;
};

/// Collective: gives the array's memory back. Waits until all ranks have called it.
template <class T, std::size_t N>
void deallocate(const world& all, const spread_array<T, N>& array,
                std::source_location site = std::source_location::current()) {
    deallocate(all, array.base(), site);
}

/// Collective: copies an array into another of equal extents and any other layout. Each rank reads
/// what it is to have. Includes a barrier before and after.
/// @error ends the job if the extents differ.
template <class T, std::size_t N>
void redistribute(const world& all, const spread_array<T, N>& from, const spread_array<T, N>& to,
                  std::source_location site = std::source_location::current()) {
    detail::check_extents({from.name(), from.extents()}, {to.name(), to.extents()}, site);
    all.barrier(site);
    {
        transfers under_way;
        if (from.layout() == to.layout()) {
            under_way.get(to.local(), from.base(), site);
        } else {
            for (const auto& tile : to.my_tiles()) from.get(under_way, tile, site);
        }
        under_way.sync(site);
    }
    all.barrier(site);
}

}  // namespace selion
