// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <selion/detail/message_function.hpp>
#include <selion/detail/packed_arguments.hpp>
#include <selion/future.hpp>
#include <selion/global_ptr.hpp>
#include <selion/message.hpp>

/// Remote procedure calls: a function runs on another rank, as a handler does, and its result comes
/// back as a future.
namespace selion {

namespace detail {

SELION_API void reply_with(std::uint32_t origin, std::uint64_t state, const void* value,
                           std::size_t bytes);
/// At most a word.
SELION_API void reply_with_word(std::uint32_t origin, std::uint64_t state, std::uint64_t word,
                                std::size_t bytes);
/// Of any length. @error selion::error, status::bad_argument: longer than a message may be.
SELION_API void reply_with_row(std::uint32_t origin, std::uint64_t state, const void* data,
                               std::size_t bytes);
SELION_API void reply_with_exception(std::uint32_t origin, std::uint64_t state) noexcept;

/// A call that is on its way.
template <class Function, class... Arguments>
struct alignas(std::uint64_t) remote_call {
    [[no_unique_address]] portable<Function> function;
    [[no_unique_address]] packed_arguments<Arguments...> arguments;

    explicit remote_call(const Function& from) : function(from) {}
};

/// Results of a length of their own, which travel with what they hold.
template <class T>
inline constexpr bool is_row = false;
template <class T>
inline constexpr bool is_row<std::vector<T>> =
    transferable<T> && !std::is_same_v<T, bool> && is_aligned_as_usual<T>;
template <class T>
inline constexpr bool is_row<std::basic_string<T>> = transferable<T>;

/// @param data aligned as usual.
template <class Row>
void receive_row(future_state& state, const std::byte* data, std::size_t bytes) {
    using element = typename Row::value_type;
    const auto* const first = reinterpret_cast<const element*>(data);
    new (state.place()) Row(first, first + bytes / sizeof(element));
    state.destroy = [](void* row) { static_cast<Row*>(row)->~Row(); };
}

template <class Result>
void reply_with_value(std::uint32_t origin, std::uint64_t state, const Result& value) {
    if constexpr (is_row<Result>) {
        reply_with_row(origin, state, value.data(),
                       value.size() * sizeof(typename Result::value_type));
    } else if constexpr (sizeof(Result) <= sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, &value, sizeof value);
        reply_with_word(origin, state, word, sizeof value);
    } else {
        reply_with(origin, state, &value, sizeof value);
    }
}

/// @param state 0: nobody waits; an exception ends the job all the same.
template <class Result>
void reply_later(std::uint32_t origin, std::uint64_t state, future<Result> later) {
    if (!later.is_valid()) {
        throw error(status::bad_argument,
                    "a function that was called has returned an empty future");
    }
    auto own = std::make_shared<future<Result>>(std::move(later));
    const auto answer = [own, origin, state] {
        try {
            const held<Result> value = future_access::take(*own);
            if (state == 0) return;
            if constexpr (std::is_void_v<Result>) {
                reply_with_word(origin, state, 0, 0);
            } else {
                reply_with_value(origin, state, value);
            }
        } catch (...) {
            reply_with_exception(origin, state);
        }
    };
    future_access::when_ready(*own, answer, std::source_location::current());
}

/// What every rank can send as a message's data, whatever SELION_MESSAGE_MEMORY is.
inline constexpr std::size_t always_possible_bytes = 16 * 1024;

/// What the target runs.
template <class Function, class... Arguments>
void run_call(incoming_message& here) {
    using call = remote_call<Function, Arguments...>;
    const message_info& about = here.about;
    const call came = header_from<call>(here.arguments.data());
    const std::uint32_t origin = about.origin;
    const std::uint64_t state = here.state;
    try {
        Function function = came.function.get();
        const auto invoke = [&]() -> decltype(auto) {
            return call_unpacked(function, came.arguments, about.data.data());
        };
        using result = decltype(invoke());
        if constexpr (std::is_void_v<result>) {
            invoke();
            if (state != 0) reply_with_word(origin, state, 0, 0);
        } else if constexpr (future_value<result>::is_future) {
            reply_later(origin, state, invoke());
        } else {
            const result value = invoke();
            if (state != 0) reply_with_value(origin, state, value);
        }
    } catch (...) {
        // Where nobody waits, an exception ends the job.
        reply_with_exception(origin, state);
    }
}

/// A rank, and where in the program it was named: what follows may be any number of arguments.
struct call_target {
    template <std::convertible_to<std::uint32_t> Rank>
        requires(!std::is_same_v<Rank, team_rank>)  // which counts something else
    call_target(Rank number, std::source_location where = std::source_location::current())
        : rank(static_cast<std::uint32_t>(number)), site(where) {}
    std::uint32_t rank;
    std::source_location site;
};

/// A result of so many bytes comes back as a message. @error selion::error, status::bad_argument
SELION_API void expect_possible_result(std::size_t bytes, const call_target& target);

/// Functions are sent as pointers.
template <class Function>
using sent_function = std::decay_t<Function>;

template <class Function, class... Arguments>
struct call_of {
    static constexpr bool is_possible = std::is_invocable_v<Function&, seen<Arguments>...>;
    static_assert(is_possible,
                  "selion::rpc: the function does not take these arguments: of a container it gets "
                  "a std::span<const T>, of a string that, a std::string_view or a std::string");
    // Where it is not, no more errors for the same reason.
    using result =
        std::conditional_t<is_possible, std::invoke_result<Function&, seen<Arguments>...>,
                           std::type_identity<void>>;
};
template <class Function, class... Arguments>
using call_result = typename call_of<Function, Arguments...>::result::type;

template <class Function, class... Arguments>
void send_call(std::uint32_t target, std::uint64_t state, std::source_location site,
               const Function& function, const Arguments&... arguments) {
    using call = remote_call<Function, Arguments...>;
    static_assert(transferable<Function>,
                  "selion::rpc moves bytes: the function object must be trivially copyable");
    static_assert(!std::is_member_pointer_v<Function>,
                  "selion::rpc moves bytes, and the address of a member function means nothing on "
                  "another rank: pass a lambda that calls it");
    static_assert(sizeof(call_of<Function, Arguments...>) != 0);  // which says what is not taken
    call sending(function);
    constexpr bool has_views = (span_element<Arguments>::is_span || ...);
    if constexpr (are_few_words<call> && !has_views) {
        detail::pack_into(sending.arguments, nullptr, 0, arguments...);
        const auto runs = &run_call<Function, Arguments...>;
        return send_few_words(target, encode_function(runs), state, sending, site);
    }
    const std::size_t bytes = (view_bytes(arguments) + ... + std::size_t{0});
    std::array<std::byte, 512> near;
    std::vector<std::byte> far(bytes > near.size() ? bytes : 0);
    std::byte* const views = far.empty() ? near.data() : far.data();
    detail::pack_into(sending.arguments, views, 0, arguments...);
    send_message({.target = target,
                  .function = encode_function(&run_call<Function, Arguments...>),
                  .arguments = std::as_bytes(std::span(&sending, 1)),
                  .data = views,
                  .bytes = bytes,
                  .state = state,
                  .is_call = true},
                 site);
}

}  // namespace detail

/// Calls `function(arguments...)` on rank `target` and returns a future of its result. The function
/// runs as a handler does: see selion/message.hpp. It may return a future: then its value comes
/// back when it is there.
///
/// Function object, arguments and result are trivially copyable, and mean the same on the target:
/// no pointers, except functions of the program. A result may also be a vector of what is, or a
/// string, of any length that a message may have. Spans, and containers and C arrays that a span
/// can show, travel with what they show; the function sees a span of constant elements that lives
/// while it runs. Of a string it may also take a string_view, or a string of its own.
/// @error selion::error, status::bad_argument: the arguments, or a result of a fixed size, are
/// longer than a message may be. Nothing has been sent then.
/// @error an exception of the function comes out of the future's `get` as a `remote_error`.
/// @cost a message each way; allocates nothing for up to 48 bytes of arguments and of the result.
template <class Function, class... Arguments>
auto rpc(detail::call_target target, Function&& function, Arguments&&... arguments) {
    using kept = detail::sent_function<Function>;
    using result = detail::call_result<kept, detail::sent<Arguments>...>;
    using value = typename detail::future_value<result>::type;
    constexpr bool is_row = detail::is_row<value>;
    static_assert(is_row || std::is_void_v<value> || transferable<detail::held<value>>,
                  "selion::rpc moves bytes: the result must be trivially copyable, or a vector of "
                  "what is, or a string");
    static_assert(!std::ranges::view<detail::held<value>>,
                  "selion::rpc moves bytes: a result that is a span or a string_view would show "
                  "memory of the target, which is gone; return the values");
    static_assert(detail::is_aligned_as_usual<detail::held<value>>,
                  "selion::rpc: a result is aligned to 16 bytes at most");
    if constexpr (!is_row && sizeof(detail::held<value>) > detail::always_possible_bytes) {
        detail::expect_possible_result(sizeof(value), target);
    }
    detail::future_state& state = detail::make_state(sizeof(detail::held<value>), target.site);
    if constexpr (is_row) state.receive = &detail::receive_row<value>;
    future<value> later(state);
    const kept sent_function = function;
    detail::send_call<kept, detail::sent<Arguments>...>(target.rank,
                                                        reinterpret_cast<std::uint64_t>(&state),
                                                        target.site, sent_function, arguments...);
    return later;
}

/// The same without an answer: on return the call is on its way. An exception of the function, or
/// in the future that it returns, ends the job.
template <class Function, class... Arguments>
void rpc_oneway(detail::call_target target, Function&& function, Arguments&&... arguments) {
    using kept = detail::sent_function<Function>;
    const kept sent_function = function;
    detail::send_call<kept, detail::sent<Arguments>...>(target.rank, 0, target.site, sent_function,
                                                        arguments...);
}

}  // namespace selion
