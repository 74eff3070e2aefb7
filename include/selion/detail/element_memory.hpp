// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ranges>
#include <span>
#include <type_traits>

#include <selion/global_ptr.hpp>

/// What collectives take as memory: all that a std::span can show.
namespace selion::detail {

/// Of a span, a container or an array, with `const` where they must not be changed.
template <class Memory>
using element_in = std::remove_reference_t<std::ranges::range_reference_t<Memory>>;
template <class Memory>
using value_of = std::remove_const_t<element_in<Memory>>;

/// Elements in a row that may be moved byte by byte.
template <class Memory>
concept shown_memory = std::ranges::contiguous_range<Memory> && std::ranges::sized_range<Memory> &&
                       transferable<value_of<Memory>>;

/// The same to write to: a span, or a container or an array that has a name.
template <class Memory>
concept filled_memory = shown_memory<Memory> && std::ranges::borrowed_range<Memory> &&
                        !std::is_const_v<element_in<Memory>>;

/// What shows elements of some kind, and is no span of them, which is what functions take.
template <class Memory>
concept listed_memory =
    std::ranges::contiguous_range<Memory> && std::ranges::sized_range<Memory> &&
    !std::is_same_v<std::remove_cvref_t<Memory>, std::span<const value_of<Memory>>>;

/// What is moved as one value, std::array too. The address of something means nothing on another
/// rank, so a pointer is none, nor is what only points at elements of others.
template <class T>
concept single_value = transferable<T> && !std::is_array_v<T> && !std::ranges::view<T> &&
                       (!std::is_pointer_v<T> || std::is_function_v<std::remove_pointer_t<T>>);

/// Memory to write to that is not one value.
template <class Memory>
concept changed_memory = filled_memory<Memory> && !single_value<std::remove_cvref_t<Memory>>;

template <class Memory>
std::span<element_in<Memory&>> span_of(Memory& memory) {
    return memory;
}

}  // namespace selion::detail
