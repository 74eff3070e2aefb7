// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <selion/global_ptr.hpp>
#include <selion/message.hpp>

/// How the arguments of a call travel to another rank.
namespace selion::detail {

template <class T>
struct span_element {
    static constexpr bool is_span = false;
};
template <class T, std::size_t Extent>
struct span_element<std::span<T, Extent>> {
    static constexpr bool is_span = true;
    using type = std::remove_const_t<T>;
    using view = std::span<const type>;
};
template <class T, class Traits>
struct span_element<std::basic_string_view<T, Traits>> {
    static constexpr bool is_span = true;
    using type = T;
    using view = std::basic_string_view<T, Traits>;
};

/// What a function sees of a string: a span that is also whatever else a parameter for text is.
template <class String>
struct string_contents : std::span<const typename String::value_type> {
    using element = typename String::value_type;
    using view = std::basic_string_view<element, typename String::traits_type>;

    string_contents(const element* first, std::size_t count)
        : std::span<const element>(first, count) {}
    operator view() const { return view(this->data(), this->size()); }
    operator String() const { return String(this->data(), this->size()); }
};
template <class T, class Traits, class Allocator>
struct span_element<std::basic_string<T, Traits, Allocator>> {
    static constexpr bool is_span = true;
    using type = T;
    using view = string_contents<std::basic_string<T, Traits, Allocator>>;
};
template <class T>
inline constexpr bool is_string = false;
template <class T, class Traits, class Allocator>
inline constexpr bool is_string<std::basic_string<T, Traits, Allocator>> = true;

template <class T>
inline constexpr bool is_function_pointer =
    std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>;

/// What is built where messages and states of futures have it.
template <class T>
inline constexpr bool is_aligned_as_usual = alignof(T) <= 16;

/// How one argument travels: by value; of a span, what it shows; a function by its name.
template <class T>
struct packed_argument {
    static_assert(transferable<T>,
                  "selion::rpc moves bytes: arguments must be trivially copyable, which handles of "
                  "coherent memory are not: each rank has its own");
    static_assert(!std::is_pointer_v<T>,
                  "selion::rpc moves bytes, and an address means nothing on another rank: pass a "
                  "global_ptr, a span of what is there, or the number of it");
    static_assert(!std::is_member_function_pointer_v<T>,
                  "selion::rpc moves bytes, and the address of a member function means nothing on "
                  "another rank: pass a lambda that calls it");
    T value;
};
template <class T>
    requires(is_function_pointer<T>)
struct packed_argument<T> {
    portable<T> value;
    bool is_there = false;  ///< not null
};
template <class T>
    requires(span_element<T>::is_span)
struct packed_argument<T> {
    static_assert(transferable<typename span_element<T>::type>,
                  "selion::rpc moves bytes: elements of a span must be trivially copyable");
    static_assert(
        is_aligned_as_usual<typename span_element<T>::type>,
        "selion::rpc aligns what spans show to 16 bytes: pass structures of more by value");
    std::uint64_t start;
    std::uint64_t count;
};

/// Like std::tuple, but a piece of bytes.
template <class... Ts>
struct packed_arguments {};
template <class First, class... Rest>
struct packed_arguments<First, Rest...> {
    packed_argument<First> first;
    [[no_unique_address]] packed_arguments<Rest...> rest;

    // Not an aggregate: clang 16 breaks off where one ends in members without an address.
    packed_arguments() : first{} {}
};

inline constexpr std::size_t view_alignment = 16;
constexpr std::size_t padded_view(std::size_t bytes) {
    return (bytes + view_alignment - 1) / view_alignment * view_alignment;
}

template <class T>
std::size_t view_bytes(const T& argument) {
    if constexpr (span_element<T>::is_span) {
        return padded_view(argument.size() * sizeof(typename span_element<T>::type));
    }
    return 0;
}

/// Fills in the arguments, and copies what spans show behind each other.
inline void pack_into(packed_arguments<>&, std::byte*, std::size_t) {}
template <class First, class... Rest>
void pack_into(packed_arguments<First, Rest...>& into, std::byte* views, std::size_t at,
               const First& first, const Rest&... rest) {
    if constexpr (span_element<First>::is_span) {
        const std::size_t bytes = first.size() * sizeof(typename span_element<First>::type);
        into.first = {at, first.size()};
        if (!first.empty()) std::memcpy(views + at, first.data(), bytes);
        at += padded_view(bytes);
    } else if constexpr (is_function_pointer<First>) {
        if (first != nullptr) into.first = {portable<First>(first), true};
    } else {
        into.first = {first};
    }
    detail::pack_into(into.rest, views, at, rest...);
}

template <class T>
auto unpack_one(const packed_argument<T>& from, const std::byte* views) {
    if constexpr (span_element<T>::is_span) {
        using element = const typename span_element<T>::type;
        return typename span_element<T>::view(reinterpret_cast<element*>(views + from.start),
                                              from.count);
    } else if constexpr (is_function_pointer<T>) {
        return from.is_there ? from.value.get() : T{};
    } else {
        return from.value;
    }
}
template <class Function, class... Done>
decltype(auto) call_unpacked(Function& function, const packed_arguments<>&, const std::byte*,
                             Done&&... done) {
    return std::invoke(function, std::forward<Done>(done)...);
}
template <class Function, class First, class... Rest, class... Done>
decltype(auto) call_unpacked(Function& function, const packed_arguments<First, Rest...>& from,
                             const std::byte* views, Done&&... done) {
    return call_unpacked(function, from.rest, views, std::forward<Done>(done)...,
                         unpack_one(from.first, views));
}

/// What a function sees of an argument: of a span, a view of constant elements.
template <class T>
using seen = decltype(unpack_one(std::declval<const packed_argument<T>&>(), nullptr));

/// Those that only point at elements of others, however their bytes may be copied.
template <class T>
inline constexpr bool is_view = std::ranges::view<T> && !span_element<T>::is_span;
template <class T>
inline constexpr bool is_view<std::initializer_list<T>> = true;

/// Texts in quotation marks; also other arrays of constant characters, which cannot be told from
/// them.
template <class T>
inline constexpr bool is_literal = false;
template <class T, std::size_t Count>
inline constexpr bool is_literal<const T[Count]> =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

/// A span argument may be given as anything that a span can show, a function and a string as
/// itself.
template <class T>
struct sent_as {
    using type = std::decay_t<T>;
};
template <class T>
    requires(std::is_array_v<std::remove_reference_t<T>>)
struct sent_as<T> {
    static_assert(!is_literal<std::remove_reference_t<T>>,
                  "selion::rpc: a text in quotation marks is an array that ends in a zero: pass a "
                  "std::string_view of it, or a std::span to send the zero as well");
    using type = decltype(std::span(std::declval<std::remove_reference_t<T>&>()));
};
template <class T>
    requires((!transferable<std::remove_cvref_t<T>> || is_view<std::remove_cvref_t<T>>) &&
             !is_string<std::remove_cvref_t<T>> && requires(T& range) { std::span(range); })
struct sent_as<T> {
    using type = decltype(std::span(std::declval<std::remove_reference_t<T>&>()));
};
template <class T>
using sent = typename sent_as<T>::type;

}  // namespace selion::detail
