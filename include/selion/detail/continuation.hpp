// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <selion/detail/future_state.hpp>

/// How functions get values of futures, and futures those of functions.
namespace selion {

template <class T = void>
class future;

namespace detail {

/// A value that future<void> has in place of none.
struct nothing {};
template <class T>
using held = std::conditional_t<std::is_void_v<T>, nothing, T>;

template <class T>
struct future_value {
    using type = T;
    static constexpr bool is_future = false;
};
template <class T>
struct future_value<future<T>> {
    using type = T;
    static constexpr bool is_future = true;
};

/// Writes the value of a call, or its exception, where a future finds it.
template <class T, class Call>
void fulfil_with(future_state& state, Call&& call) {
    try {
        if constexpr (std::is_void_v<T>) {
            call();
        } else {
            new (state.place()) T(call());
            if constexpr (!std::is_trivially_destructible_v<T>) {
                state.destroy = [](void* value) { static_cast<T*>(value)->~T(); };
            }
        }
    } catch (...) {
        state.trouble = std::current_exception();
    }
    fulfil(state);
}

/// Calls a function with the value of a future, or without one; of a tuple with its elements, where
/// it does not take the tuple.
template <class Function>
    requires(std::is_invocable_v<Function&>)
decltype(auto) call_with(Function& function, nothing&&) {
    return std::invoke(function);
}
template <class Function, class T>
    requires(!std::is_same_v<T, nothing> && std::is_invocable_v<Function&, T>)
decltype(auto) call_with(Function& function, T&& value) {
    return std::invoke(function, std::move(value));
}
template <class Function, class... Ts>
    requires(!std::is_invocable_v<Function&, std::tuple<Ts...>> &&
             std::is_invocable_v<Function&, Ts...>)
decltype(auto) call_with(Function& function, std::tuple<Ts...>&& values) {
    return std::apply(function, std::move(values));
}

template <class Function, class T>
concept takes_value =
    requires(Function& function, held<T> value) { detail::call_with(function, std::move(value)); };
template <class Function, class T>
using result_with = decltype(detail::call_with(std::declval<Function&>(), std::declval<held<T>>()));

}  // namespace detail
}  // namespace selion
