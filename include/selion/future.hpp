// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include <selion/detail/continuation.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/future_state.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/detail/shared_word.hpp>
#include <selion/error.hpp>
#include <selion/rank.hpp>
#include <selion/time_limit.hpp>

/// Results that are still on their way.
namespace selion {

/// A function that ran on another rank ended with an exception: its type and its text.
class SELION_API remote_error : public error {
public:
    remote_error(std::string type, const std::string& text, rank_id where);
    /// Name of the exception's type, as a compiler would write it.
    const std::string& type_name() const noexcept { return type_; }

private:
    std::string type_;
};

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

    /// Takes the value, as `get` does, and calls `function` with it as soon as it is there: now, or
    /// when the news arrives; then it runs as a handler does and must not wait. A function that
    /// takes as many values as a tuple has (`when_all`) gets these. Behind a collective it may run
    /// beside a handler of the rank, where other threads serve (interrupts, joined threads).
    /// @return a future of what it returns; of one that itself returns a future, of that one's
    /// value. An exception of the operation or of `function` goes there.
    template <class Function>
    auto then(Function function, std::source_location site = std::source_location::current()) && {
        static_assert(detail::takes_value<Function, T>,
                      "selion::future: the function of `then` does not take the future's value: of "
                      "a future<> it gets nothing, of a tuple the tuple or its elements");
        if constexpr (detail::takes_value<Function, T>) {
            return chain(std::move(function), site);
        } else {
            return std::move(*this);  // no more errors for the same reason
        }
    }
    template <class Function>
    auto then(Function function,
              std::source_location site = std::source_location::current()) const& {
        static_assert(sizeof(Function) == 0,
                      "selion::future: `then` takes the value away from the future, which is empty "
                      "after it: write std::move(name).then(...)");
        return const_cast<future&&>(*this).then(std::move(function), site);
    }

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
    template <class Function>
    auto chain(Function function, std::source_location site);
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
auto future<T>::chain(Function function, std::source_location site) {
    using result = detail::result_with<Function, T>;
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
            return detail::call_with(once, own->first.take());
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

}  // namespace selion
