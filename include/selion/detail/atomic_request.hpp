// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>
#include <type_traits>

#include <selion/detail/export.hpp>

namespace selion {
class counter;
}

namespace selion::detail {

enum class atomic_operation : std::uint8_t {
    load,
    store,
    swap,
    compare_swap,
    add,
    bit_or,
    bit_and,
    bit_xor,
    min,
    max,
};

/// What the bits of an element mean; sums of integers and bit operations need not know.
enum class element_kind : std::uint8_t { unsigned_integer, signed_integer, floating };

/// One remote atomic. `operand` and `compare` hold the bits of a value of `width` bytes.
struct atomic_request {
    std::uint64_t target;
    std::uint64_t operand;
    std::uint64_t compare;
    atomic_operation operation;
    std::uint8_t width;  ///< 4 or 8
    element_kind kind = element_kind::unsigned_integer;
    bool fetches = true;  ///< somebody wants to know the value before
};

/// Where the result of an atomic goes that is not waited for in its call.
struct atomic_answer {
    void* before;  ///< `width` bytes for the value before; null: nobody wants it
    counter* completion;
};

/// Whether it has an order: everything but a NaN.
template <class T>
constexpr bool is_number(T value) {
    if constexpr (std::is_floating_point_v<T>) return value == value;
    return true;
}

template <class T>
constexpr T wrapping_sum(T left, T right) {
    if constexpr (std::is_floating_point_v<T>) {
        return left + right;
    } else {
        using bits = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<bits>(left) + static_cast<bits>(right));
    }
}

/// What an atomic makes of an element. Integers wrap; floating-point minimum and maximum prefer a
/// number to a NaN.
template <class T>
constexpr T combine_atomically(atomic_operation operation, T before, T operand) {
    switch (operation) {
        case atomic_operation::load: return before;
        case atomic_operation::add: return wrapping_sum(before, operand);
        case atomic_operation::min:
            return operand < before || !is_number(before) ? operand : before;
        case atomic_operation::max:
            return operand > before || !is_number(before) ? operand : before;
        default: break;
    }
    if constexpr (requires { before | operand; }) {
        if (operation == atomic_operation::bit_or) return before | operand;
        if (operation == atomic_operation::bit_and) return before & operand;
        if (operation == atomic_operation::bit_xor) return before ^ operand;
    }
    return operand;
}

SELION_API std::uint64_t atomic_slow(const atomic_request& request, std::source_location site);
SELION_API void start_atomic(const atomic_request& request, const atomic_answer& answer,
                             std::source_location site);

}  // namespace selion::detail
