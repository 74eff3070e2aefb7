// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include <selion/detail/number_beside.hpp>
#include <selion/global_ptr.hpp>
#include <selion/put_get.hpp>
#include <selion/rank.hpp>

namespace selion {

/// An index of an array, and where in the program it stands.
class spread_index {
public:
    template <std::integral I>
    constexpr spread_index(I value,
                           std::source_location site = std::source_location::current()) noexcept
        : value_(static_cast<std::size_t>(value)), site_(site) {}
    constexpr spread_index(rank_id rank,
                           std::source_location site = std::source_location::current()) noexcept
        : spread_index(std::uint32_t{rank}, site) {}
    constexpr std::size_t value() const noexcept { return value_; }
    constexpr std::source_location site() const noexcept { return site_; }

private:
    std::size_t value_;
    std::source_location site_;
};

/// An element, somewhere: reading it is a `get`, assigning to it a `put`, both blocking. A variable
/// that is declared `auto` holds the reference, and reads when it is used.
template <class T>
class spread_reference {
public:
    constexpr spread_reference(global_ptr<T> where, std::source_location site) noexcept
        : where_(where), site_(site) {}
    spread_reference(const spread_reference&) = default;

    operator std::remove_const_t<T>() const { return get(); }
    std::remove_const_t<T> get() const { return selion::get(where_, site_); }
    const spread_reference& operator=(const T& value) const {
        put(where_, value, site_);
        return *this;
    }
    /// Between two elements the value is copied.
    const spread_reference& operator=(const spread_reference& other) const {
        return *this = other.get();
    }
    /// Read, changed and written: not atomic.
    const spread_reference& operator+=(const T& by) const { return change(get() + by); }
    const spread_reference& operator-=(const T& by) const { return change(get() - by); }
    const spread_reference& operator*=(const T& by) const { return change(get() * by); }
    const spread_reference& operator/=(const T& by) const { return change(get() / by); }
    const spread_reference& operator%=(const T& by) const { return change(get() % by); }
    const spread_reference& operator&=(const T& by) const { return change(get() & by); }
    const spread_reference& operator|=(const T& by) const { return change(get() | by); }
    const spread_reference& operator^=(const T& by) const { return change(get() ^ by); }
    // As for a plain number, a number of another type is not rounded first.
    template <detail::number_beside<T> By>
    const spread_reference& operator+=(By by) const {
        return change(detail::with_both<T, By>(get()) + detail::with_both<T, By>(by));
    }
    template <detail::number_beside<T> By>
    const spread_reference& operator-=(By by) const {
        return change(detail::with_both<T, By>(get()) - detail::with_both<T, By>(by));
    }
    template <detail::number_beside<T> By>
    const spread_reference& operator*=(By by) const {
        return change(detail::with_both<T, By>(get()) * detail::with_both<T, By>(by));
    }
    template <detail::number_beside<T> By>
    const spread_reference& operator/=(By by) const {
        return change(detail::with_both<T, By>(get()) / detail::with_both<T, By>(by));
    }
    template <detail::number_beside<T> By>
    const spread_reference& operator%=(By by) const {
        return change(detail::with_both<T, By>(get()) % detail::with_both<T, By>(by));
    }
    template <detail::number_beside<T> By>
    const spread_reference& operator&=(By by) const {
        return change(detail::with_both<T, By>(get()) & detail::with_both<T, By>(by));
    }
    template <detail::number_beside<T> By>
    const spread_reference& operator|=(By by) const {
        return change(detail::with_both<T, By>(get()) | detail::with_both<T, By>(by));
    }
    template <detail::number_beside<T> By>
    const spread_reference& operator^=(By by) const {
        return change(detail::with_both<T, By>(get()) ^ detail::with_both<T, By>(by));
    }
    const spread_reference& operator++() const { return *this += T{1}; }
    const spread_reference& operator--() const { return *this -= T{1}; }

    constexpr global_ptr<T> address() const noexcept { return where_; }

private:
    /// Of a small type the result is an int.
    template <class Result>
    const spread_reference& change(const Result& value) const {
        return *this = static_cast<T>(value);
    }

    global_ptr<T> where_;
    std::source_location site_;
};

}  // namespace selion
