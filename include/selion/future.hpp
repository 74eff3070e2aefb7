// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <selion/detail/export.hpp>
#include <selion/detail/future_state.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/detail/shared_word.hpp>
#include <selion/error.hpp>
#include <selion/rank.hpp>
#include <selion/time_limit.hpp>

/// Results that are still on their way.
namespace selion {

template <class T = void>
class future;

/// A function that ran on another rank ended with an exception: its type and its text.
class SELION_API remote_error : public error {
public:
    remote_error(std::string type, const std::string& text, rank_id where);
    /// Name of the exception's type, as a compiler would write it.
    const std::string& type_name() const noexcept { return type_; }

private:
    std::string type_;
};

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

/// Calls a function with the value of a future, or without one.
template <class Function, class T>
decltype(auto) call_with(Function& function, held<T>&& value) {
    if constexpr (std::is_void_v<T>) {
        return std::invoke(function);
    } else {
        return std::invoke(function, std::move(value));
    }
}
template <class Function, class T>
struct result_with : std::invoke_result<Function&, T&&> {};
template <class Function>
struct result_with<Function, void> : std::invoke_result<Function&> {};

}  // namespace detail

/// How continuations reach into a future.
namespace detail {
struct future_access {
    template <class T>
    static held<T> take(future<T>& from) {
        return from.take();
    }
    template <class T>
    static void when_ready(future<T>& from, std::function<void()> next, std::source_location site) {
        from.when_ready(std::move(next), site);
    }
};
}  // namespace detail

/// A value of type T that is there, or will be. Belongs to the thread that got it; a future that is
/// let go lets its operation go on. One that outlives its job is empty and may only be let go. One
/// that is fulfilled at once (`make_ready`) holds its value itself and costs nothing.
template <class T>
class [[nodiscard]] future {
public:
    using value_type = T;

    future() = default;
    /// A future that is fulfilled.
    explicit future(detail::held<T> value) : value_(std::move(value)) {}
    /// One that whoever has the state fulfils.
    explicit future(detail::future_state& state) : state_(&state, {detail::current_context->job}) {}
    future(future&& other) noexcept(moves_quietly)
        : value_(std::exchange(other.value_, std::nullopt)), state_(std::move(other.state_)) {}
    future& operator=(future&& other) noexcept(moves_quietly) {
        value_ = std::exchange(other.value_, std::nullopt);
        state_ = std::move(other.state_);
        return *this;
    }
    ~future() = default;

    /// Whether it can be waited for: neither empty nor taken.
    bool is_valid() const noexcept { return value_ || living_state() != nullptr; }
    /// Whether `get` would return at once. A bare look: in a loop of them `test` is what serves.
    bool is_ready() const noexcept {
        const detail::future_state* const state = living_state();
        return value_.has_value() || (state != nullptr && detail::is_fulfilled(*state));
    }

    /// Waits for the value. Makes progress.
    void wait(std::source_location site = std::source_location::current()) const {
        if (!is_ready()) static_cast<void>(detail::await_state(living_state(), -1, site));
    }
    /// The same for at most `timeout`. @return whether it is there.
    [[nodiscard]] bool wait(time_limit timeout,
                            std::source_location site = std::source_location::current()) const {
        return is_ready() || detail::await_state(living_state(), timeout.nanoseconds(), site);
    }

    /// Whether the value is there. If it is not, serves what has come and lets other ranks of the
    /// same carrier run: a loop of tests comes to its end.
    [[nodiscard]] bool test(std::source_location site = std::source_location::current()) const {
        return wait(time_limit(std::chrono::nanoseconds(0)), site);
    }

    /// Waits for the value and takes it: once. Throws what the operation or a continuation has
    /// thrown: of a function on another rank a `remote_error`.
    T get(std::source_location site = std::source_location::current()) {
        wait(site);
        if constexpr (std::is_void_v<T>) {
            static_cast<void>(take());
        } else {
            return take();
        }
    }

    /// Calls `function` with the value as soon as it is there: now, or when the news arrives; then
    /// it runs as a handler does and must not wait. Behind a collective it may run beside a handler
    /// of the rank, where other threads serve (interrupts, joined threads).
    /// @return a future of what it returns; of one that itself returns a future, of that one's
    /// value. An exception of the operation or of `function` goes there.
    template <class Function>
    auto then(Function function, std::source_location site = std::source_location::current());

private:
    friend struct detail::future_access;
    static constexpr bool moves_quietly =
        std::is_nothrow_move_constructible_v<detail::held<T>> &&
        std::is_nothrow_move_assignable_v<std::optional<detail::held<T>>>;

    /// Null where the job is over whose rank has made it.
    detail::future_state* living_state() const noexcept {
        return state_.get_deleter().job == detail::current_context->job ? state_.get() : nullptr;
    }
    detail::held<T> take() {
        if (value_) {
            detail::held<T> value = std::move(*value_);
            value_.reset();
            return value;
        }
        const detail::state_hold state = std::move(state_);
        if (state->trouble) std::rethrow_exception(state->trouble);
        if constexpr (std::is_void_v<T>) {
            return {};
        } else {
            return std::move(*std::launder(reinterpret_cast<T*>(state->place())));
        }
    }
    /// Runs `next` once the value is there.
    void when_ready(std::function<void()> next, std::source_location site) {
        if (value_ || !detail::continue_with(living_state(), next, site)) next();
    }

    std::optional<detail::held<T>> value_;
    detail::state_hold state_;
};

/// A future that is fulfilled already.
template <class T>
future<std::remove_cvref_t<T>> make_ready(T&& value) {
    return future<std::remove_cvref_t<T>>(std::forward<T>(value));
}
inline future<> make_ready() { return future<>(detail::nothing{}); }

template <class T>
template <class Function>
auto future<T>::then(Function function, std::source_location site) {
    using result = typename detail::result_with<Function, T>::type;
    using value = typename detail::future_value<result>::type;
    constexpr bool is_nested = detail::future_value<result>::is_future;
    static_assert(detail::fits_a_state<detail::held<value>>,
                  "selion::future: a value is aligned to 16 bytes at most");
    struct continuation {
        future first;
        Function function;
    };
    auto own = std::make_shared<continuation>(std::move(*this), std::move(function));
    detail::future_state& state = detail::make_state(sizeof(detail::held<value>), site);
    future<value> later(state);
    future& first = own->first;
    auto run = [own, &state, site] {
        // What it has captured is gone before anybody can have its result.
        const auto call = [&]() -> result {
            Function once = std::move(own->function);
            return detail::call_with<Function, T>(once, own->first.take());
        };
        if constexpr (is_nested) {
            try {
                auto inner = std::make_shared<result>(call());
                const auto pass_on = [inner, &state] {
                    detail::fulfil_with<value>(state, [&] { return inner->get(); });
                };
                detail::future_access::when_ready(*inner, pass_on, site);
            } catch (...) {
                state.trouble = std::current_exception();
                detail::fulfil(state);
            }
        } else {
            static_cast<void>(site);  // what is not returned cannot be empty
            detail::fulfil_with<value>(state, call);
        }
    };
    first.when_ready(std::move(run), site);
    return later;
}

namespace detail {
/// Whether each of the futures that `when_all` gathers can be waited for.
SELION_API void expect_parts(std::initializer_list<bool> are_valid);
/// The parts of `when_all`. Any of them may be fulfilled on another thread of the rank than the one
/// that gathers them. Not within that function: clang 16 expands no packs in classes of functions.
template <class... Ts>
struct gathered_parts {
    explicit gathered_parts(future<Ts>&&... given) : parts(std::move(given)...) {}
    std::tuple<future<Ts>...> parts;
    std::atomic<std::size_t> missing = sizeof...(Ts) + 1;
};
}  // namespace detail

/// A future of all the values, in order; `future<>` counts as `detail::nothing`.
template <class... Ts>
future<std::tuple<detail::held<Ts>...>> when_all(future<Ts>... parts) {
    using all = std::tuple<detail::held<Ts>...>;
    static_assert(detail::fits_a_state<all>,
                  "selion::future: a value is aligned to 16 bytes at most");
    detail::expect_parts({parts.is_valid()...});
    detail::future_state& state = detail::make_state(sizeof(all), std::source_location::current());
    future<all> later(state);
    auto gathered = std::make_shared<detail::gathered_parts<Ts...>>(std::move(parts)...);
    const auto one_more = [gathered, &state] {
        // release: this part, for the thread that finds nothing missing [future.parts]
        if (gathered->missing.fetch_sub(1, std::memory_order_release) != 1) return;
        // acquire: the parts that other threads fulfilled [future.parts]
        (void)gathered->missing.load(std::memory_order_acquire);
        detail::fulfil_with<all>(state, [&] {
            return std::apply(
                [](auto&... part) { return all(detail::future_access::take(part)...); },
                gathered->parts);
        });
    };
    const auto site = std::source_location::current();
    std::apply(
        [&](auto&... part) { (detail::future_access::when_ready(part, one_more, site), ...); },
        gathered->parts);
    one_more();
    return later;
}

}  // namespace selion
