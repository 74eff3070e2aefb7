// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>

#include <selion/cached_reference.hpp>
#include <selion/coherent_space.hpp>
#include <selion/spread_array.hpp>
#include <selion/transfers.hpp>
#include <selion/world.hpp>

namespace selion {

/// A spread array in coherent memory: the same layouts, and references that read and write copies
/// of blocks where an element is another rank's. Zeroed at first. A handle is the rank's own, and
/// cannot be sent to another one; copies of it are the same array.
template <transferable T, std::size_t N>
class cached_array
    : public detail::indexed_access<cached_array<T, N>, std::make_index_sequence<N>> {
public:
    using element_type = T;
    static constexpr std::size_t dimensions = N;

    cached_array() = default;
    /// Collective, without waiting: an array in the next bytes of a space.
    /// @error bad_argument for a layout that is not possible, out_of_memory: the space is full.
    /// @pre all ranks pass the same; the checking build compares, and waits for that.
    template <class Distribution>
    cached_array(const coherent_space& space, const coordinates<N>& extents,
                 const Distribution& how, std::string_view name = "a cached array",
                 std::source_location site = std::source_location::current())
        : cached_array(space, layout_of(extents, how, name, site), name, site) {}
    /// Collective: an array in a space of its own. Includes a barrier. @error as for a space.
    template <class Distribution>
    cached_array(const world& all, const coordinates<N>& extents, const Distribution& how,
                 const cached& options, std::string_view name = "a cached array",
                 std::source_location site = std::source_location::current())
        : cached_array(all, layout_of(extents, how, name, site), options, name, site) {}

    constexpr const spread_layout<N>& layout() const noexcept { return memory_.layout(); }
    constexpr coordinates<N> extents() const { return memory_.extents(); }
    constexpr std::size_t extent(std::size_t dimension) const { return memory_.extent(dimension); }
    constexpr std::string_view name() const noexcept { return memory_.name(); }
    constexpr explicit operator bool() const noexcept { return static_cast<bool>(memory_); }
    const coherent_space& space() const noexcept { return space_; }

    cached_reference<T> at(const coordinates<N>& index,
                           std::source_location site = std::source_location::current()) const {
        return {view_, memory_.address_of(index, site), site};
    }
    global_ptr<T> address_of(const coordinates<N>& index,
                             std::source_location site = std::source_location::current()) const {
        return memory_.address_of(index, site);
    }
    std::size_t local_of(const coordinates<N>& index,
                         std::source_location site = std::source_location::current()) const {
        return memory_.local_of(index, site);
    }

    /// Calls `what` for each of the caller's elements, tile by tile and row by row, with a
    /// reference and the index in each dimension.
    template <class Function>
    void for_mine(Function&& what,
                  std::source_location site = std::source_location::current()) const {
        const T* const first = memory_.local().data();
        memory_.for_mine([&](const T& element, auto... index) {
            what(cached_reference<T>(view_, memory_.base() + (&element - first), site), index...);
        });
    }

    /// Starts to read a box into memory of the caller, row by row without gaps. Each block is an
    /// access of its own.
    void get(transfers& under_way, const spread_box<N>& box, std::span<T> into,
             std::source_location site = std::source_location::current()) const {
        check_box(box, into.size(), site);
        if (view_->is_direct) return memory_.get(under_way, box, into, site);
        for_rows(box, [&](std::uint64_t bits, std::size_t elements, std::size_t in_box) {
            under_way.add(
                [&](counter& done) {
                    return detail::start_read_coherent(*view_, bits, into.data() + in_box,
                                                       elements * sizeof(T), done, site);
                },
                site);
        });
    }
    /// Starts to write a box, from memory that must stay as it is until `sync`.
    void put(transfers& under_way, const spread_box<N>& box, std::span<const T> from,
             std::source_location site = std::source_location::current()) const {
        check_box(box, from.size(), site);
        if (view_->is_direct) return memory_.put(under_way, box, from, site);
        for_rows(box, [&](std::uint64_t bits, std::size_t elements, std::size_t in_box) {
            under_way.add(
                [&](counter& done) {
                    return detail::start_write_coherent(*view_, bits, from.data() + in_box,
                                                        elements * sizeof(T), done, site);
                },
                site);
        });
    }
    /// Starts to read, or to write, one element. What is read is there after `sync`.
    void get(transfers& under_way, const coordinates<N>& index, T& into,
             std::source_location site = std::source_location::current()) const {
        check_space(site);
        const global_ptr<T> from = address_of(index, site);
        if (view_->is_direct) return under_way.get(into, from, site);
        under_way.add(
            [&](counter& done) {
                return detail::start_read_coherent(*view_, from.bits(), &into, sizeof(T), done,
                                                   site);
            },
            site);
    }
    void put(transfers& under_way, const coordinates<N>& index, const T& value,
             std::source_location site = std::source_location::current()) const {
        check_space(site);
        const global_ptr<T> to = address_of(index, site);
        if (view_->is_direct) return under_way.put(to, value, site);
        under_way.add(
            [&](counter& done) {
                return detail::start_copied_write_coherent(*view_, to.bits(), &value, sizeof(T),
                                                           done, site);
            },
            site);
    }
    /// The same as `get` and `put`, and waits.
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
    /// Asks for copies of a box's blocks that will be read soon, and does not wait for them. Those
    /// for which there is no room are left out: copies that have been used go for them, but none
    /// that came by a hint or a prefetch and is still to be used.
    void prefetch(const spread_box<N>& box,
                  std::source_location site = std::source_location::current()) const {
        check_box(box, size_of(box), site);
        for_rows(box, [&](std::uint64_t bits, std::size_t elements, std::size_t) {
            detail::hint_coherent(*view_, bits, elements * sizeof(T), site);
        });
    }

    /// Accesses of the caller to this array. @pre `cached::has_statistics`
    access_counts accesses() const {
        return detail::count_accesses_of_array(*view_, memory_.base().bits() & detail::offset_mask);
    }

    /// The array's memory, for accesses without the protocol: own elements before any other rank
    /// has accessed the space, and all of them while no rank has copies
    /// (`coherent_space::invalidate` and a barrier see to that).
    const spread_array<T, N>& memory() const noexcept { return memory_; }

private:
    cached_array(const world& all, const spread_layout<N>& layout, const cached& options,
                 std::string_view name, std::source_location site)
        : cached_array(coherent_space(all, bytes_of_part(layout), options, site), layout, name,
                       site) {}
    cached_array(const coherent_space& space, const spread_layout<N>& layout, std::string_view name,
                 std::source_location site)
        : memory_(spread_array<T, N>::in_memory(
              layout, space.take<T>(layout.local_size(), name, site), name)),
          space_(space),
          view_(space.view()) {}

    template <class Distribution>
    static spread_layout<N> layout_of(const coordinates<N>& extents, const Distribution& how,
                                      [[maybe_unused]] std::string_view name,
                                      std::source_location site) {
        detail::rank_context& context = detail::context_of_caller(site);
        const spread_layout<N> layout(extents, how, context.ranks);
        if constexpr (SELION_CHECK_LEVEL >= 2) {
            detail::check_alike(world(context), layout.fingerprint(), name, site);
        }
        return layout;
    }
    /// With what the first element may have to leave out: blocks can be less aligned than it is.
    static constexpr std::size_t bytes_of_part(const spread_layout<N>& layout) {
        constexpr std::size_t least_block = 8;
        constexpr std::size_t left_out = alignof(T) > least_block ? alignof(T) - least_block : 0;
        const std::size_t bytes = detail::bytes_of(layout.local_size(), sizeof(T));
        return bytes > SIZE_MAX - left_out ? SIZE_MAX : bytes + left_out;
    }

    void check_space([[maybe_unused]] std::source_location site) const {
        if constexpr (SELION_CHECK_LEVEL >= 2) detail::expect_space(view_, site);
    }
    void check_box(const spread_box<N>& box, std::size_t elements,
                   std::source_location site) const {
        check_space(site);
        detail::check_box_of(name(), extents(), box, elements, site);
    }

    /// Rows that lie without gaps on both sides.
    template <class Function>
    void for_rows(const spread_box<N>& box, const Function& what) const {
        detail::for_parts(layout(), box, row_major(box.extents), [&](const auto& part) {
            part.for_rows([&](std::size_t in_rank, std::size_t in_box) {
                const global_ptr<T> start = memory_.base().on(part.rank);
                what((start + static_cast<std::ptrdiff_t>(in_rank)).bits(), part.row, in_box);
            });
        });
    }

    spread_array<T, N> memory_;
    coherent_space space_;
    detail::block_view* view_ = nullptr;
};

/// Collective: gives the array's space back, with whatever else lies in it. What ranks have
/// written goes home first.
template <class T, std::size_t N>
void deallocate(const world& all, const cached_array<T, N>& array,
                std::source_location site = std::source_location::current()) {
    deallocate(all, array.space(), site);
}

}  // namespace selion
