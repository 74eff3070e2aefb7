// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <source_location>
#include <span>
#include <type_traits>
#include <vector>

#include <selion/atomics.hpp>
#include <selion/future.hpp>
#include <selion/global_ptr.hpp>
#include <selion/put_get.hpp>
#include <selion/rpc.hpp>
#include <selion/when_all.hpp>

/// One-sided operations whose result is a future, for `then` and `when_all`: with `as_future` where
/// a counter could stand. Where the target is mapped they are done when they return, and cost what
/// they cost without a future: it holds the value itself. Recording changes nothing in that.
/// Elsewhere each is a call of a function on the target (`rpc`), which the target carries out where
/// it waits or makes progress, or in its notification thread; puts and counted operations may
/// overtake it.
namespace selion {

/// Asks for a future.
struct as_future_t {
    explicit as_future_t() = default;
};
inline constexpr as_future_t as_future{};

namespace detail {

/// Whether the operation is done on return. Also where it takes the long way: it may be recorded.
inline bool is_mapped(std::uint64_t bits) {
    return mapped_address(*current_context, bits) != nullptr;
}

template <atomic_operation Operation, atomic_element T>
future<T> update_as_future(global_ptr<T> target, T operand, T compare, std::source_location site) {
    if (is_mapped(target.bits())) [[likely]] {
        return make_ready(update<Operation>(target, operand, compare, site));
    }
    expect_range(target.bits(), sizeof(T), sizeof(T), site, purpose_of(Operation));
    return rpc(
        call_target(target.rank(), site),
        [](global_ptr<T> own, T change, T expected) {
            return apply_atomically<Operation>(*own.local(), change, expected);
        },
        target, operand, compare);
}

}  // namespace detail

/// Writes one value. @return a future that is ready when it is there.
/// @cost a store where the target is mapped; else a message each way.
template <class T>
future<> put(global_ptr<T> target, const std::type_identity_t<T>& value, as_future_t,
             std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::put moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put needs a pointer to mutable elements");
    using enum detail::access_purpose;
    if (detail::is_mapped(target.bits())) [[likely]] {
        selion::put(target, value, site);
        return make_ready();
    }
    detail::expect_range(target.bits(), sizeof(T), alignof(T), site, write);
    return rpc(
        detail::call_target(target.rank(), site),
        [](global_ptr<T> own, const T& came) { *own.local() = came; }, target, value);
}

/// Writes a span of elements to consecutive places. They are copied: the source may be reused on
/// return. Where the target is not mapped they are at most a little less than half of
/// SELION_MESSAGE_MEMORY; the form with counters has no limit.
/// @return a future that is ready when they are there.
template <class T>
future<> put(global_ptr<T> target, std::span<const std::type_identity_t<T>> source, as_future_t,
             std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::put moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put needs a pointer to mutable elements");
    using enum detail::access_purpose;
    if (source.empty()) return make_ready();
    if (detail::is_mapped(target.bits())) [[likely]] {
        selion::put(target, source, site);
        return make_ready();
    }
    detail::expect_range(target.bits(), source.size_bytes(), alignof(T), site, write);
    return rpc(
        detail::call_target(target.rank(), site),
        [](global_ptr<T> own, std::span<const T> came) { std::ranges::copy(came, own.local()); },
        target, source);
}

/// Reads one value. @return a future of it.
/// @cost a load where the source is mapped; else a message each way.
template <class T>
future<std::remove_const_t<T>> get(global_ptr<T> source, as_future_t,
                                   std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::get moves bytes: T must be trivially copyable");
    using enum detail::access_purpose;
    if (detail::is_mapped(source.bits())) [[likely]]
        return make_ready(selion::get(source, site));
    detail::expect_range(source.bits(), sizeof(T), alignof(T), site, read);
    return rpc(
        detail::call_target(source.rank(), site),
        [](global_ptr<T> own) -> std::remove_const_t<T> { return *own.local(); }, source);
}

/// Reads consecutive elements into a span. Where the source is not mapped they are at most a little
/// less than half of SELION_MESSAGE_MEMORY; the form with counters has no limit.
/// @param target is written to until the future is ready, also where the future is let go.
/// @return a future that is ready when they are here.
/// @cost a copy where the source is mapped; else a message each way, and two copies more.
template <class T>
future<> get(std::span<std::remove_const_t<T>> target, global_ptr<T> source, as_future_t,
             std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::get moves bytes: T must be trivially copyable");
    using enum detail::access_purpose;
    if (target.empty()) return make_ready();
    if (detail::is_mapped(source.bits())) [[likely]] {
        selion::get(target, source, site);
        return make_ready();
    }
    detail::expect_range(source.bits(), target.size_bytes(), alignof(T), site, read);
    return rpc(
               detail::call_target(source.rank(), site),
               [](global_ptr<T> own, std::size_t bytes) {
                   const auto* const first = reinterpret_cast<const std::byte*>(own.local());
                   return std::vector<std::byte>(first, first + bytes);
               },
               source, target.size_bytes())
        .then([to = target.data()](const std::vector<std::byte>& came) {
            std::memcpy(to, came.data(), came.size());
        });
}

/// The atomic operations that fetch (selion/atomics.hpp). @return a future of the value before.
/// @cost a locked instruction where the target is mapped; else a message each way.
template <atomic_element T>
future<T> fetch_add(global_ptr<T> target, std::type_identity_t<T> amount, as_future_t,
                    std::source_location site = std::source_location::current()) {
    return detail::update_as_future<detail::atomic_operation::add>(target, amount, T{}, site);
}
template <atomic_element T>
future<T> swap(global_ptr<T> target, std::type_identity_t<T> value, as_future_t,
               std::source_location site = std::source_location::current()) {
    return detail::update_as_future<detail::atomic_operation::swap>(target, value, T{}, site);
}
template <atomic_integer T>
future<T> compare_swap(global_ptr<T> target, std::type_identity_t<T> expected,
                       std::type_identity_t<T> desired, as_future_t,
                       std::source_location site = std::source_location::current()) {
    return detail::update_as_future<detail::atomic_operation::compare_swap>(target, desired,
                                                                            expected, site);
}
template <atomic_integer T>
future<T> fetch_or(global_ptr<T> target, std::type_identity_t<T> bits, as_future_t,
                   std::source_location site = std::source_location::current()) {
    return detail::update_as_future<detail::atomic_operation::bit_or>(target, bits, T{}, site);
}
template <atomic_integer T>
future<T> fetch_and(global_ptr<T> target, std::type_identity_t<T> bits, as_future_t,
                    std::source_location site = std::source_location::current()) {
    return detail::update_as_future<detail::atomic_operation::bit_and>(target, bits, T{}, site);
}
template <atomic_integer T>
future<T> fetch_xor(global_ptr<T> target, std::type_identity_t<T> bits, as_future_t,
                    std::source_location site = std::source_location::current()) {
    return detail::update_as_future<detail::atomic_operation::bit_xor>(target, bits, T{}, site);
}
template <atomic_element T>
future<T> fetch_min(global_ptr<T> target, std::type_identity_t<T> value, as_future_t,
                    std::source_location site = std::source_location::current()) {
    return detail::update_as_future<detail::atomic_operation::min>(target, value, T{}, site);
}
template <atomic_element T>
future<T> fetch_max(global_ptr<T> target, std::type_identity_t<T> value, as_future_t,
                    std::source_location site = std::source_location::current()) {
    return detail::update_as_future<detail::atomic_operation::max>(target, value, T{}, site);
}
template <atomic_element T>
future<T> atomic_get(global_ptr<T> source, as_future_t,
                     std::source_location site = std::source_location::current()) {
    return detail::update_as_future<detail::atomic_operation::load>(source, T{}, T{}, site);
}

}  // namespace selion
