// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <selion/detail/export.hpp>

/// What combines two vectors element by element, without its types.
namespace selion::detail {

/// `result` may be `left` or `right`, but not overlap them otherwise.
using combine_function = void (*)(const void* operation, void* result, const void* left,
                                  const void* right, std::size_t count);

/// The operations and types that the library combines with the widest vectors of the processor.
inline constexpr std::size_t standard_operations = 4;
inline constexpr std::size_t standard_types = 10;
using combine_table = combine_function[standard_operations][standard_types];
SELION_API const combine_table& standard_combines();

/// Which of the standard types; `standard_types` for another.
template <class T>
consteval std::size_t standard_type() {
    if constexpr (std::is_same_v<T, float>) {
        return 8;
    } else if constexpr (std::is_same_v<T, double>) {
        return 9;
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8) {
        constexpr std::size_t width = sizeof(T) == 1   ? 0
                                      : sizeof(T) == 2 ? 1
                                      : sizeof(T) == 4 ? 2
                                                       : 3;
        return 2 * width + (std::is_signed_v<T> ? 0 : 1);
    } else {
        return standard_types;
    }
}

}  // namespace selion::detail
