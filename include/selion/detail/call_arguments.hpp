// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include <selion/detail/export.hpp>
#include <selion/detail/routine_parameter.hpp>

/// How the arguments of a call are given, and how they come into its frame.
namespace selion {

template <class T>
class worker_array;

namespace detail {

/// Which way the elements of a span travel.
enum class transfer : std::uint8_t { in, out, in_out };
constexpr bool goes_in(transfer way) { return way != transfer::out; }
constexpr bool comes_out(transfer way) { return way != transfer::in; }

template <class T>
struct value_argument {
    T value;
};
template <class T>
struct reference_argument {
    T* target;
    bool is_sent;
};
template <class T>
struct span_argument {
    std::span<T> elements;
    transfer way;
};

/// Part of a worker's own memory.
struct worker_range {
    std::uint32_t worker = 0;
    std::uint32_t generation = 0;  ///< changes when the worker is replaced
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    const void* pool = nullptr;  ///< whose worker it is
};
template <class T>
struct array_argument {
    worker_range range;
};

/// One of them on each worker.
template <class T>
struct replica_argument {
    std::span<const worker_range> ranges;
};

template <class T>
concept shows_elements = requires(T& range) { std::span(range); };
template <class T>
using element_of = typename decltype(std::span(std::declval<T&>()))::element_type;

/// Whether the elements of an argument are there when the call has returned: not those of a
/// temporary container.
template <class T>
inline constexpr bool outlives_call =
    !shows_elements<std::remove_reference_t<T>> || std::is_lvalue_reference_v<T> ||
    std::ranges::borrowed_range<T>;

/// Arguments as they come, one after another.
class SELION_API call_writer {
public:
    virtual void value(const void* bytes, std::size_t count) = 0;
    virtual void reference(void* target, std::size_t bytes, bool is_sent) = 0;
    virtual void span(const void* data, std::size_t count, std::size_t element_bytes,
                      transfer way) = 0;
    virtual void array(const worker_range& range, std::size_t count) = 0;
    virtual void replica(std::span<const worker_range> ranges, std::size_t count) = 0;

protected:
    ~call_writer() = default;
};

template <class T>
routine_parameter describe(const value_argument<T>&) {
    return parameter_of<T>();
}
template <class T>
routine_parameter describe(const reference_argument<T>&) {
    return parameter_of<T&>();
}
template <class T>
routine_parameter describe(const span_argument<T>& argument) {
    return argument.way == transfer::in ? parameter_of<std::span<const T>>()
                                        : parameter_of<std::span<std::remove_const_t<T>>>();
}
template <class T>
routine_parameter describe(const array_argument<T>&) {
    return parameter_of<std::span<T>>();
}

template <class T>
routine_parameter describe(const replica_argument<T>&) {
    return parameter_of<std::span<const T>>();
}

template <class T>
void write(call_writer& to, const value_argument<T>& argument) {
    to.value(&argument.value, sizeof(T));
}
template <class T>
void write(call_writer& to, const reference_argument<T>& argument) {
    to.reference(argument.target, sizeof(T), argument.is_sent);
}
template <class T>
void write(call_writer& to, const span_argument<T>& argument) {
    to.span(argument.elements.data(), argument.elements.size(), sizeof(T), argument.way);
}
template <class T>
void write(call_writer& to, const array_argument<T>& argument) {
    to.array(argument.range, argument.range.bytes / sizeof(T));
}

template <class T>
void write(call_writer& to, const replica_argument<T>& argument) {
    to.replica(argument.ranges, argument.ranges.front().bytes / sizeof(T));
}

template <class T>
inline constexpr bool is_marked = false;
template <class T>
inline constexpr bool is_marked<value_argument<T>> = true;
template <class T>
inline constexpr bool is_marked<reference_argument<T>> = true;
template <class T>
inline constexpr bool is_marked<span_argument<T>> = true;
template <class T>
inline constexpr bool is_marked<array_argument<T>> = true;
template <class T>
inline constexpr bool is_marked<replica_argument<T>> = true;

}  // namespace detail

/// An argument that the routine reads: the default. Elements must stay as they are until the call
/// is done.
template <class T>
auto in(T&& argument) {
    static_assert(detail::outlives_call<T&&>, "selion::in needs elements that have a name");
    using plain = std::remove_cvref_t<T>;
    if constexpr (detail::shows_elements<const plain>) {
        using element = detail::element_of<const plain>;
        return detail::span_argument<element>{std::span(std::as_const(argument)),
                                              detail::transfer::in};
    } else {
        return detail::value_argument<plain>{argument};
    }
}
/// One that it writes: it finds no particular value there. What it has written is there when the
/// call has been waited for.
template <class T>
auto out(T&& argument) {
    static_assert(detail::outlives_call<T&&>, "selion::out needs elements that have a name");
    if constexpr (detail::shows_elements<std::remove_reference_t<T>>) {
        using element = detail::element_of<std::remove_reference_t<T>>;
        static_assert(!std::is_const_v<element>, "selion::out needs elements that can be written");
        return detail::span_argument<element>{std::span(argument), detail::transfer::out};
    } else {
        static_assert(std::is_lvalue_reference_v<T>, "selion::out needs a variable");
        return detail::reference_argument<std::remove_reference_t<T>>{&argument, false};
    }
}
/// One that it reads and writes.
template <class T>
auto in_out(T&& argument) {
    static_assert(detail::outlives_call<T&&>, "selion::in_out needs elements that have a name");
    if constexpr (detail::shows_elements<std::remove_reference_t<T>>) {
        using element = detail::element_of<std::remove_reference_t<T>>;
        static_assert(!std::is_const_v<element>,
                      "selion::in_out needs elements that can be written");
        return detail::span_argument<element>{std::span(argument), detail::transfer::in_out};
    } else {
        static_assert(std::is_lvalue_reference_v<T>, "selion::in_out needs a variable");
        return detail::reference_argument<std::remove_reference_t<T>>{&argument, true};
    }
}

namespace detail {

/// What an argument of a call is that was given without a mark.
template <class T>
auto marked(const T& argument) {
    if constexpr (is_marked<T>) {
        return argument;
    } else if constexpr (requires { argument.as_argument(); }) {
        return argument.as_argument();
    } else {
        return in(argument);
    }
}

/// An argument for a parameter of type P, which the routine is known to have.
template <class P, class T>
auto argument_for(const T& given) {
    using value = std::remove_cvref_t<P>;
    constexpr routine_parameter wanted = parameter_of<P>();
    if constexpr (!wanted.is_span && !wanted.is_mutable) {
        if constexpr (is_marked<T>) {
            static_assert(requires { given.value; }, "this routine wants a value here");
            return value_argument<value>{static_cast<value>(given.value)};
        } else {
            static_assert(std::is_convertible_v<const T&, value>,
                          "this argument cannot be converted to the routine's parameter");
            return value_argument<value>{static_cast<value>(given)};
        }
    } else {
        const auto argument = marked(given);
        using argument_type = std::remove_const_t<decltype(argument)>;
        if constexpr (!wanted.is_span) {
            static_assert(std::is_same_v<argument_type, reference_argument<value>>,
                          "this routine wants selion::out(variable) or selion::in_out(variable) "
                          "of its parameter's type here");
        } else {
            using element = std::remove_const_t<typename value::element_type>;
            constexpr bool is_array = std::is_same_v<argument_type, array_argument<element>>;
            constexpr bool is_read = std::is_same_v<argument_type, span_argument<const element>> ||
                                     std::is_same_v<argument_type, replica_argument<element>>;
            constexpr bool is_span = std::is_same_v<argument_type, span_argument<element>>;
            static_assert(is_array || is_span || is_read,
                          "this routine wants elements of its parameter's type here");
            static_assert(!wanted.is_mutable || !is_read,
                          "this routine writes these elements: selion::out or selion::in_out");
        }
        return argument;
    }
}

}  // namespace detail

}  // namespace selion
