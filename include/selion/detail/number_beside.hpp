// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace selion::detail {

/// A number that changes an element of another type.
template <class By, class T>
concept number_beside =
    std::is_arithmetic_v<T> && std::is_arithmetic_v<By> && !std::is_same_v<T, By>;
/// A number as arithmetic with one of the other type takes it.
template <class T, class By, class Number>
constexpr auto with_both(Number number) {
    return static_cast<std::common_type_t<T, By>>(number);
}

}  // namespace selion::detail
