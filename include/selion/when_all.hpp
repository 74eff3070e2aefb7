// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <ranges>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <selion/detail/continuation.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/future_state.hpp>
#include <selion/future.hpp>

/// Many futures as one.
namespace selion {

namespace detail {

/// Whether a future that `when_all` gathers can be waited for.
/// @param number from 1 on.
SELION_API void expect_part(bool is_valid, std::size_t number, std::size_t count,
                            std::source_location site);

template <class... Ts, class Visit>
void visit_parts(std::tuple<future<Ts>...>& parts, const Visit& visit) {
    std::apply([&](auto&... part) { (visit(part), ...); }, parts);
}
template <class T, class Visit>
void visit_parts(std::vector<future<T>>& parts, const Visit& visit) {
    for (future<T>& part : parts) visit(part);
}

template <class T>
auto take_as_tuple(future<T>& part) {
    if constexpr (std::is_void_v<T>) {
        static_cast<void>(future_access::take(part));
        return std::tuple<>();
    } else {
        return std::tuple<T>(future_access::take(part));
    }
}
/// What the parts have in all: those that have nothing add nothing.
template <class... Ts>
auto take_values(std::tuple<future<Ts>...>& parts) {
    auto taken = std::apply(
        [](auto&... part) {
            using each = std::tuple<decltype(detail::take_as_tuple(part))...>;
            return each{detail::take_as_tuple(part)...};  // in order, unlike arguments of a call
        },
        parts);
    auto values =
        std::apply([](auto&... part) { return std::tuple_cat(std::move(part)...); }, taken);
    if constexpr (std::tuple_size_v<decltype(values)> != 0) return values;
}
template <class T>
auto take_values(std::vector<future<T>>& parts) {
    if constexpr (std::is_void_v<T>) {
        for (future<>& part : parts) static_cast<void>(future_access::take(part));
    } else {
        std::vector<T> values;
        values.reserve(parts.size());
        for (future<T>& part : parts) values.push_back(future_access::take(part));
        return values;
    }
}

/// Any of them may be fulfilled on another thread of the rank than the one that gathers them.
template <class Parts>
struct gathered_parts {
    gathered_parts(Parts&& given, std::size_t count)
        : parts(std::move(given)), missing(count + 1) {}
    Parts parts;
    std::atomic<std::size_t> missing;
};

/// @param count of the parts, all of which can be waited for.
template <class Parts>
auto gather(Parts parts, std::size_t count, std::source_location site) {
    using value = decltype(detail::take_values(parts));
    static_assert(fits_a_state<held<value>>,
                  "selion::future: a value is aligned to 16 bytes at most");
    future_state& state = make_state(sizeof(held<value>), site);
    future<value> later(state);
    auto gathered = std::make_shared<gathered_parts<Parts>>(std::move(parts), count);
    const auto one_more = [gathered, &state] {
        // release: this part, for the thread that finds nothing missing [future.parts]
        if (gathered->missing.fetch_sub(1, std::memory_order_release) != 1) return;
        // acquire: the parts that other threads fulfilled [future.parts]
        (void)gathered->missing.load(std::memory_order_acquire);
        detail::fulfil_with<value>(state, [&] { return detail::take_values(gathered->parts); });
    };
    detail::visit_parts(gathered->parts,
                        [&](auto& part) { future_access::when_ready(part, one_more, site); });
    one_more();
    return later;
}

template <class Range>
concept range_of_futures =
    std::ranges::input_range<Range> && future_value<std::ranges::range_value_t<Range>>::is_future;

}  // namespace detail

/// A future of the values of all, in order, as a tuple; those of `future<>` are not in it. Where no
/// part has a value it is a `future<>`.
/// @error the exception of a part comes out: of several the first one's, in their order.
template <class... Ts>
auto when_all(future<Ts>... parts) {
    const std::source_location site = std::source_location::current();
    std::size_t number = 0;
    (detail::expect_part(parts.is_valid(), ++number, sizeof...(Ts), site), ...);
    return detail::gather(std::tuple<future<Ts>...>(std::move(parts)...), sizeof...(Ts), site);
}

/// The same of a range of futures of one type: a future of a vector of the values, or a `future<>`.
/// @param parts are taken, and empty after it: a container is moved, or shown as a `std::span`.
template <detail::range_of_futures Futures>
auto when_all(Futures&& parts, std::source_location site = std::source_location::current()) {
    constexpr bool may_take =
        !std::is_lvalue_reference_v<Futures> || std::ranges::view<std::remove_cvref_t<Futures>>;
    static_assert(may_take,
                  "selion::when_all takes the futures away from the range: write "
                  "when_all(std::move(name)), or pass a std::span of them");
    std::vector<std::ranges::range_value_t<Futures>> own;
    if constexpr (may_take) std::ranges::move(parts, std::back_inserter(own));
    std::size_t number = 0;
    for (const auto& part : own) detail::expect_part(part.is_valid(), ++number, own.size(), site);
    const std::size_t count = own.size();
    return detail::gather(std::move(own), count, site);
}

}  // namespace selion
