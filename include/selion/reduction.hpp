// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <typeinfo>

#include <selion/global_ptr.hpp>

/// Operations for reductions. Any function object `T operator()(T, T)` may stand in their place; it
/// must be associative, and equal on all ranks. Values are combined in the order of the ranks, so
/// it need not be commutative. Floating-point sums are associative only nearly: for them and their
/// like the association is fixed. The values of several ranks are those of the first 2^k ranks,
/// combined with those of the others, where 2^k is the largest power of two below their number; and
/// so on within both. Seven ranks give ((0 1)(2 3))((4 5) 6), on every machine.
namespace selion {

inline constexpr struct plus_operation {
    template <class T>
    constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a + b);
    }
} plus;

inline constexpr struct times_operation {
    template <class T>
    constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a * b);
    }
} times;

inline constexpr struct minimum_operation {
    template <class T>
    constexpr T operator()(const T& a, const T& b) const {
        return std::min(a, b);
    }
} minimum;

inline constexpr struct maximum_operation {
    template <class T>
    constexpr T operator()(const T& a, const T& b) const {
        return std::max(a, b);
    }
} maximum;

namespace detail {

/// A reduction without its types: what the compiled collectives need to know.
struct reduction {
    /// Element by element. `result` may be `left`.
    void (*combine)(const void* operation, void* result, const void* left, const void* right,
                    std::size_t count);
    const void* operation;
    std::size_t element_bytes;
    std::size_t type_hash;  ///< of element and operation; compared across ranks when checking
};

template <transferable T, class Operation>
reduction erase_reduction(const Operation& operation) {
    // A plain function is its own address; a function object lives in the caller's frame.
    using pointer = std::conditional_t<std::is_function_v<Operation>, Operation*, const Operation*>;
    return {[](const void* erased, void* result, const void* left, const void* right,
               std::size_t count) {
                const auto& combine = *reinterpret_cast<pointer>(const_cast<void*>(erased));
                T* into = static_cast<T*>(result);
                const T* a = static_cast<const T*>(left);
                const T* b = static_cast<const T*>(right);
                for (std::size_t i = 0; i < count; ++i) into[i] = combine(a[i], b[i]);
            },
            reinterpret_cast<const void*>(&operation), sizeof(T),
            typeid(T).hash_code() * 31 + typeid(Operation).hash_code()};
}

}  // namespace detail
}  // namespace selion
