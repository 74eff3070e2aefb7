// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <source_location>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <selion/spread_array.hpp>

namespace selion {

/// Indices of one dimension: `count` of them from `first`, `step` apart.
struct index_range {
    std::size_t first;
    std::size_t count;
    std::size_t step = 1;
};
/// All indices of a dimension.
struct every_index {};
inline constexpr every_index every;

namespace detail {

/// Ends the job where a dimension does not have the indices.
SELION_API void check_range(std::string_view array, std::size_t dimension, const index_range& which,
                            std::size_t extent, std::source_location site);

template <class Choice>
inline constexpr bool keeps_dimension =
    std::same_as<Choice, index_range> || std::same_as<Choice, every_index>;
template <class... Choice>
inline constexpr std::size_t kept_dimensions = (std::size_t{keeps_dimension<Choice>} + ... + 0);

}  // namespace detail

/// A part of a spread array that is used as an array of M dimensions; its elements are those of the
/// array, which must live as long. Made by `slice`. May be copied.
template <class T, std::size_t N, std::size_t M>
class spread_slice
    : public detail::indexed_access<spread_slice<T, N, M>, std::make_index_sequence<M>> {
public:
    explicit spread_slice(const spread_array<T, N>& array) : array_(array) {}

    constexpr const coordinates<M>& extents() const noexcept { return extents_; }
    constexpr std::size_t extent(std::size_t dimension) const { return extents_[dimension]; }

    auto at(const coordinates<M>& index,
            std::source_location site = std::source_location::current()) const {
        return array_.at(in_array(index, site), site);
    }
    global_ptr<T> address_of(const coordinates<M>& index,
                             std::source_location site = std::source_location::current()) const {
        return array_.address_of(in_array(index, site), site);
    }
    std::size_t local_of(const coordinates<M>& index,
                         std::source_location site = std::source_location::current()) const {
        return array_.local_of(in_array(index, site), site);
    }

    /// Starts to read all of it, row by row. @param into as many elements as it has.
    /// @cost as a box of the array; where steps are not 1, as one for each index of theirs.
    void get(transfers& under_way, std::span<T> into,
             std::source_location site = std::source_location::current()) const {
        for_boxes(into.size(), site, [&](const spread_box<N>& box, std::size_t start) {
            array_.get(under_way, box, into.data() + start, strides(), site);
        });
    }
    void put(transfers& under_way, std::span<const T> from,
             std::source_location site = std::source_location::current()) const {
        for_boxes(from.size(), site, [&](const spread_box<N>& box, std::size_t start) {
            array_.put(under_way, box, from.data() + start, strides(), site);
        });
    }
    /// The same, and waits.
    void read(std::span<T> into,
              std::source_location site = std::source_location::current()) const {
        transfers under_way;
        get(under_way, into, site);
        under_way.sync(site);
    }
    void write(std::span<const T> from,
               std::source_location site = std::source_location::current()) const {
        transfers under_way;
        put(under_way, from, site);
        under_way.sync(site);
    }

protected:
    /// Dimension `from` of the array stays, as dimension `to` of this.
    void keep(std::size_t from, std::size_t to, const index_range& which) {
        first_[from] = which.first;
        dimension_[to] = from;
        step_[to] = which.step;
        extents_[to] = which.count;
    }
    void fix(std::size_t from, std::size_t index) { first_[from] = index; }

private:
    /// In the caller's memory, for each dimension of the array.
    coordinates<N> strides() const {
        coordinates<N> all{};
        const coordinates<M> mine = row_major(extents_);
        for (std::size_t d = 0; d < M; ++d) all[dimension_[d]] = mine[d];
        return all;
    }
    /// Calls `what` for each box of the array that it has whole, and where that begins in memory.
    template <class Function>
    void for_boxes(std::size_t elements, std::source_location site, const Function& what) const {
        const spread_box<M> all{{}, extents_};
        detail::check_box(array_.name(), {all.first, extents_, extents_}, elements, site);
        if (size_of(all) == 0) return;
        coordinates<M> boxes;
        for (std::size_t d = 0; d < M; ++d) boxes[d] = step_[d] == 1 ? 1 : extents_[d];
        const coordinates<M> memory = row_major(extents_);
        coordinates<M> at{};
        do {
            spread_box<N> box{first_, {}};
            box.extents.fill(1);
            std::size_t start = 0;
            for (std::size_t d = 0; d < M; ++d) {
                box.first[dimension_[d]] += at[d] * step_[d];
                if (step_[d] == 1) box.extents[dimension_[d]] = extents_[d];
                start += at[d] * memory[d];
            }
            what(box, start);
        } while (detail::advance(at, boxes));
    }
    coordinates<N> in_array(const coordinates<M>& index,
                            [[maybe_unused]] std::source_location site) const {
        coordinates<N> there = first_;
        for (std::size_t d = 0; d < M; ++d) {
            if constexpr (SELION_CHECK_LEVEL >= 2) {
                if (index[d] >= extents_[d]) {
                    detail::end_job_for_index({array_.name(), extents_, true}, index, site);
                }
            }
            there[dimension_[d]] += index[d] * step_[d];
        }
        return there;
    }

    spread_array<T, N> array_;
    coordinates<N> first_ = {};
    std::array<std::size_t, M> dimension_ = {};
    coordinates<M> step_ = {};
    coordinates<M> extents_ = {};
};

/// A part of an array: for each dimension an `index_range`, `every`, or one index, which takes the
/// dimension away: `slice(a, every, 3)` is column 3. A range of no indices may begin anywhere.
/// @error ends the job for indices that the array does not have.
template <class Array, class... Choice>
    requires(sizeof...(Choice) == Array::dimensions && detail::kept_dimensions<Choice...> > 0)
class slice : public spread_slice<typename Array::element_type, Array::dimensions,
                                  detail::kept_dimensions<Choice...>> {
public:
    explicit slice(const Array& array, const Choice&... choice,
                   std::source_location site = std::source_location::current())
        : slice::spread_slice(array) {
        std::size_t from = 0;
        std::size_t to = 0;
        (take(array, from++, to, choice, site), ...);
    }

private:
    template <class One>
    void take(const Array& array, std::size_t from, std::size_t& to, const One& one,
              std::source_location site) {
        const std::size_t extent = array.extent(from);
        if constexpr (!detail::keeps_dimension<One>) {
            const std::size_t index = spread_index(one, site).value();
            detail::check_range(array.name(), from, {index, 1}, extent, site);
            this->fix(from, index);
        } else if constexpr (std::same_as<One, every_index>) {
            this->keep(from, to++, {0, extent});
        } else {
            detail::check_range(array.name(), from, one, extent, site);
            this->keep(from, to++, one);
        }
    }
};
template <class T, std::size_t N, class... Choice>
slice(const spread_array<T, N>&, const Choice&...) -> slice<spread_array<T, N>, Choice...>;

}  // namespace selion
