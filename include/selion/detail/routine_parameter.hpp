// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include <selion/detail/export.hpp>
#include <selion/global_ptr.hpp>

/// What a routine's parameters are, as data: caller and worker may be different programs.
namespace selion::detail {

enum class value_kind : std::uint8_t { integer, natural, real, truth, other };

/// One parameter of a routine, or one argument of a call.
struct routine_parameter {
    value_kind element = value_kind::other;
    bool is_span = false;
    bool is_mutable = false;  ///< the routine may write: the caller gets it back if it wants to
    std::uint32_t element_bytes = 0;

    bool operator==(const routine_parameter&) const = default;
    /// 64-bit words that it takes in the frame of a call.
    constexpr std::uint32_t frame_words() const { return is_span ? 2 : (element_bytes + 7) / 8; }
    /// Words of the results: references come back with them.
    constexpr std::uint32_t result_words() const {
        return !is_span && is_mutable ? frame_words() : 0;
    }
};

/// As a programmer would write it: "span<const int32>", "double&".
SELION_API std::string text_of(const routine_parameter& parameter);

/// Words of arguments and of results that a call has room for.
inline constexpr std::size_t most_frame_words = 28;
inline constexpr std::size_t most_result_words = 13;

/// The value whose bytes are there. Its type need not have a default constructor.
template <class T>
T value_of_bytes(const void* from) {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), from, sizeof(T));
    return std::bit_cast<T>(bytes);
}

template <class T>
constexpr value_kind value_kind_of() {
    if constexpr (std::is_same_v<T, bool>) return value_kind::truth;
    if constexpr (std::is_floating_point_v<T>) return value_kind::real;
    if constexpr (std::is_integral_v<T>) {
        return std::is_signed_v<T> ? value_kind::integer : value_kind::natural;
    }
    return value_kind::other;
}

template <class T>
inline constexpr bool is_span_type = false;
template <class T, std::size_t Extent>
inline constexpr bool is_span_type<std::span<T, Extent>> = true;

/// Parameter of type P, which is a value, a reference or a span.
template <class P>
constexpr routine_parameter parameter_of() {
    using value = std::remove_cvref_t<P>;
    if constexpr (is_span_type<value>) {
        static_assert(value::extent == std::dynamic_extent,
                      "a routine takes spans of any length: std::span<T>");
        using element = typename value::element_type;
        using plain = std::remove_const_t<element>;
        static_assert(transferable<plain>,
                      "a routine's arguments are moved as bytes: elements must be trivially "
                      "copyable");
        static_assert(alignof(plain) <= 16,
                      "elements of a routine's spans lie at multiples of 16 bytes, not of more");
        return {value_kind_of<plain>(), true, !std::is_const_v<element>, sizeof(plain)};
    } else {
        static_assert(transferable<value>,
                      "a routine's arguments are moved as bytes: they must be trivially copyable; "
                      "pass the elements of a container as std::span");
        static_assert(!std::is_pointer_v<value>,
                      "a pointer means nothing on a worker: pass std::span");
        constexpr bool is_mutable =
            std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>;
        return {value_kind_of<value>(), false, is_mutable, sizeof(value)};
    }
}

}  // namespace selion::detail
