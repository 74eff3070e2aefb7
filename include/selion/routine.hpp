// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <selion/detail/export.hpp>
#include <selion/detail/routine_parameter.hpp>

/// Routines: functions that workers run for others (`selion/worker_pool.hpp`).
namespace selion {

namespace detail {
class worker_services;
}

/// The worker that runs a routine, as the routine sees it: take it as first parameter.
class worker {
public:
    explicit worker(detail::worker_services& services) noexcept : services_(services) {}

    /// Number of the worker in its pool, from 0.
    SELION_API std::uint32_t number() const noexcept;
    /// Whether the caller has given up; a routine that takes long may look and return.
    SELION_API bool is_cancelled() const noexcept;
    /// Writes a text to the host's standard output: in one piece, or, of a rank, in pieces of 1
    /// MiB.
    SELION_API void print(std::string_view text);
    /// Contents of a file of the host. @error bad_argument: it cannot be read, or is a folder.
    SELION_API std::string read_file(const std::string& path);

private:
    detail::worker_services& services_;
};

namespace detail {

/// A call on its worker.
struct routine_call_frame {
    std::uint64_t* words;    ///< arguments
    std::uint64_t* results;  ///< room for `most_result_words`
    std::byte* memory;       ///< what places of spans are counted from
    worker& self;
};

/// What a program knows of one of its routines.
struct routine_entry {
    const char* name = nullptr;
    std::span<const routine_parameter> parameters;
    routine_parameter result;  ///< `element_bytes` 0: none
    void (*invoke)(void (*function)(), routine_call_frame& frame) = nullptr;
    void (*function)() = nullptr;
    routine_entry* next = nullptr;  ///< in the program's list
};
/// @error bad_argument: the name is empty or another routine has it.
SELION_API void add_routine(routine_entry& entry);
SELION_API void remove_routine(routine_entry& entry) noexcept;

/// How a parameter is taken out of a frame, and what of it goes back.
template <class P>
struct held_argument {
    using value = std::remove_cvref_t<P>;
    static constexpr routine_parameter what = parameter_of<P>();
    value held;

    static held_argument take(routine_call_frame& frame, std::size_t& at) {
        const std::uint64_t* const words = frame.words + at;
        at += what.frame_words();
        return {value_of_bytes<value>(words)};
    }
    P pass() { return static_cast<P>(held); }
    void give_back(std::uint64_t* results, std::size_t& at) const {
        if constexpr (what.is_mutable) {
            std::memcpy(results + at, &held, sizeof(value));
            at += what.result_words();
        }
    }
};
template <class P>
    requires(is_span_type<std::remove_cvref_t<P>>)
struct held_argument<P> {
    using span = std::remove_cvref_t<P>;
    span held;

    static held_argument take(routine_call_frame& frame, std::size_t& at) {
        const std::uint64_t place = frame.words[at];
        const std::uint64_t count = frame.words[at + 1];
        at += 2;
        return {span(reinterpret_cast<typename span::pointer>(frame.memory + place), count)};
    }
    span pass() const { return held; }
    void give_back(std::uint64_t*, std::size_t&) const {}
};
template <>
struct held_argument<worker&> {
    worker* held;
    static held_argument take(routine_call_frame& frame, std::size_t&) { return {&frame.self}; }
    worker& pass() const { return *held; }
    void give_back(std::uint64_t*, std::size_t&) const {}
};

/// Parameters that the caller supplies: all but the worker itself.
template <class... Ps>
struct parameter_list {
    static constexpr std::size_t count = sizeof...(Ps);
    static constexpr std::array<routine_parameter, sizeof...(Ps)> all{parameter_of<Ps>()...};
    static constexpr std::size_t frame_words = (parameter_of<Ps>().frame_words() + ... + 0);
    static constexpr std::size_t result_words = (parameter_of<Ps>().result_words() + ... + 0);
};

template <class Signature>
struct routine_traits;
template <class R, class... Ps>
struct routine_traits<R(Ps...)> {
    using result = R;
    using parameters = parameter_list<Ps...>;
    using passed = R(Ps...);
    using pointer = R (*)(Ps...);
};
template <class R, class... Ps>
struct routine_traits<R(worker&, Ps...)> {
    using result = R;
    using parameters = parameter_list<Ps...>;
    using passed = R(Ps...);
    using pointer = R (*)(worker&, Ps...);
};

template <class R>
constexpr routine_parameter result_parameter() {
    if constexpr (std::is_void_v<R>) {
        return {};
    } else {
        static_assert(!is_span_type<R>, "a routine returns a value; give it a span to write to");
        return parameter_of<R>();
    }
}

template <class Signature>
struct routine_invoker;
template <class R, class... Ps>
struct routine_invoker<R(Ps...)> {
    static void invoke(void (*function)(), routine_call_frame& frame) {
        auto* const typed = reinterpret_cast<R (*)(Ps...)>(function);
        [[maybe_unused]] std::size_t at = 0;
        // Braces: from left to right.
        std::tuple<held_argument<Ps>...> held{held_argument<Ps>::take(frame, at)...};
        [[maybe_unused]] std::size_t back = 0;
        std::apply(
            [&](auto&... each) {
                if constexpr (std::is_void_v<R>) {
                    typed(each.pass()...);
                } else {
                    const R value = typed(each.pass()...);
                    std::memcpy(frame.results, &value, sizeof value);
                    back = parameter_of<R>().frame_words();
                }
                (each.give_back(frame.results, back), ...);
            },
            held);
    }
};

template <class Function>
struct signature_of : signature_of<decltype(+std::declval<Function>())> {};
template <class R, class... Ps>
struct signature_of<R (*)(Ps...)> {
    using type = R(Ps...);
};
template <class R, class... Ps>
struct signature_of<R (*)(Ps...) noexcept> {
    using type = R(Ps...);
};

}  // namespace detail

/// A function that workers can run, known by its name and its types. Define it at namespace scope,
/// before `main`, in the program that the workers run:
///
///     const selion::routine sum{"sum", [](std::span<const int> data) { … return total; }};
///
/// Parameters: values, `T&` (the caller may get it back), `std::span<const T>` and `std::span<T>`
/// of trivially copyable types; first, if wanted, `selion::worker&`. The function has no captures.
/// It returns a trivially copyable value or nothing. An exception goes to the caller.
/// @error bad_argument (when the program starts): a name that another routine has.
template <class Signature>
class routine {
    using traits = detail::routine_traits<Signature>;
    using result = typename traits::result;
    static constexpr detail::routine_parameter returned = detail::result_parameter<result>();
    static_assert(traits::parameters::frame_words <= detail::most_frame_words,
                  "a routine's arguments take at most 28 words of 8 bytes, a span two of them");
    static_assert(traits::parameters::result_words + returned.frame_words() <=
                      detail::most_result_words,
                  "a routine's result and references take at most 13 words of 8 bytes: give it a "
                  "span to write to");

public:
    template <class Function>
    routine(const char* name, Function function)
        : entry_{name,
                 traits::parameters::all,
                 returned,
                 detail::routine_invoker<Signature>::invoke,
                 reinterpret_cast<void (*)()>(static_cast<typename traits::pointer>(function)),
                 nullptr} {
        detail::add_routine(entry_);
    }
    ~routine() { detail::remove_routine(entry_); }
    routine(const routine&) = delete;
    routine& operator=(const routine&) = delete;

    const char* name() const noexcept { return entry_.name; }
    const detail::routine_entry& entry() const noexcept { return entry_; }

private:
    detail::routine_entry entry_;
};

template <class Function>
routine(const char*, Function) -> routine<typename detail::signature_of<Function>::type>;

}  // namespace selion
