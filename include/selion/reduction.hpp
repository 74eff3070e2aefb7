// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <selion/detail/combine_function.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/hash.hpp>
#include <selion/global_ptr.hpp>

/// Operations for reductions. Any function object `T operator()(T, T)` may stand in their place; it
/// must be associative, and equal on all ranks: where calls are compared, its type is, and which
/// function it is, but not what an object holds. Values are combined in the order of the ranks, so
/// it need not be commutative. It must not throw: other members wait for what it was to give, so an
/// exception ends the job with a sentence that names it. Floating-point sums are associative only
/// nearly: for them and their like the association is fixed. The values of several ranks are those
/// of the first 2^k ranks, combined with those of the others, where 2^k is the largest power of two
/// below their number; and so on within both. Seven ranks give ((0 1)(2 3))((4 5) 6), on every
/// machine.
namespace selion {

inline constexpr struct plus_operation {
    template <class T>
        requires requires(const T& a) { static_cast<T>(a + a); }
    constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a + b);
    }
} plus;

inline constexpr struct times_operation {
    template <class T>
        requires requires(const T& a) { static_cast<T>(a * a); }
    constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a * b);
    }
} times;

/// Of floating-point numbers NaN if one of them is, whichever rank has it.
inline constexpr struct minimum_operation {
    template <class T>
        requires requires(const T& a) { static_cast<bool>(a < a); }
    constexpr T operator()(const T& a, const T& b) const {
        if constexpr (std::is_floating_point_v<T>) {
            const T least = a < b ? a : b;
            return a != a ? a : least;
        } else {
            return std::min(a, b);
        }
    }
} minimum;

/// NaN as in `minimum`.
inline constexpr struct maximum_operation {
    template <class T>
        requires requires(const T& a) { static_cast<bool>(a < a); }
    constexpr T operator()(const T& a, const T& b) const {
        if constexpr (std::is_floating_point_v<T>) {
            const T greatest = a > b ? a : b;
            return a != a ? a : greatest;
        } else {
            return std::max(a, b);
        }
    }
} maximum;

namespace detail {

/// A reduction without its types: what the compiled collectives need to know.
struct reduction {
    combine_function combine;
    const void* operation;
    std::size_t element_bytes;
    std::size_t type_hash;     ///< of element and operation; compared across ranks when checking
    bool is_function = false;  ///< `operation` is a function of the program, and compared as well
};

/// A number for a type, made when the program is compiled, and the same in all its processes.
template <class T>
consteval std::size_t type_hash() {
    return text_hash(__PRETTY_FUNCTION__);  // which names the type
}

/// Which of the operations above; `standard_operations` for another.
template <class Operation>
consteval std::size_t standard_operation() {
    if constexpr (std::is_same_v<Operation, plus_operation>) return 0;
    if constexpr (std::is_same_v<Operation, times_operation>) return 1;
    if constexpr (std::is_same_v<Operation, minimum_operation>) return 2;
    if constexpr (std::is_same_v<Operation, maximum_operation>) return 3;
    return standard_operations;
}

/// Within a `catch`: ends the job for an operation that has thrown.
[[noreturn]] SELION_API void end_job_for_operation();

/// One after another, as the compiler of the program likes.
template <class T, class Pointer>
void combine_each(const void* erased, void* result, const void* left, const void* right,
                  std::size_t count) {
    const auto& combine = *reinterpret_cast<Pointer>(const_cast<void*>(erased));
    T* into = static_cast<T*>(result);
    const T* a = static_cast<const T*>(left);
    const T* b = static_cast<const T*>(right);
    try {
        for (std::size_t i = 0; i < count; ++i) into[i] = static_cast<T>(combine(a[i], b[i]));
    } catch (...) {
        end_job_for_operation();
    }
}

/// Whether `operation(a, b)` of two elements is one again.
template <class Operation, class T>
concept combines = requires(const Operation& operation, const T& element) {
    static_cast<T>(operation(element, element));
};

template <transferable T, class Operation>
combine_function combine_of() {
    // A plain function is its own address; a function object lives in the caller's frame.
    using pointer = std::conditional_t<std::is_function_v<Operation>, Operation*, const Operation*>;
    constexpr std::size_t operation = standard_operation<Operation>();
    if constexpr (operation < standard_operations && standard_type<T>() < standard_types) {
        return standard_combines()[operation][standard_type<T>()];
    } else if constexpr (combines<Operation, T>) {
        return combine_each<T, pointer>;
    } else {
        return nullptr;  // the compiler has said why
    }
}

template <transferable T, class Operation>
reduction erase_reduction(const Operation& operation) {
    static_assert(alignof(T) <= line_bytes,
                  "collectives combine elements whose alignment is at most 128 bytes");
    static_assert(combines<Operation, T>,
                  "selion: the operation of a reduction takes two elements (const T&) and returns "
                  "one; selion::plus, times, minimum and maximum want numbers, or the operators of "
                  "the element's type");
    if constexpr (std::is_pointer_v<Operation>) {
        return erase_reduction<T>(*operation);  // where it lies says nothing
    } else {
        return {combine_of<T, Operation>(), reinterpret_cast<const void*>(&operation), sizeof(T),
                type_hash<T>() * 31 + type_hash<Operation>(), std::is_function_v<Operation>};
    }
}

}  // namespace detail
}  // namespace selion
