// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstring>
#include <source_location>
#include <span>
#include <type_traits>

#include <selion/detail/rank_context.hpp>
#include <selion/detail/slow_path.hpp>
#include <selion/global_ptr.hpp>

/// Blocking one-sided copies. Where the target is mapped they are plain loads, stores and memcpy.
/// They are not atomic: two ranks that touch one location at the same time, one of them writing,
/// must be ordered by a signal or a collective.
namespace selion {

namespace detail {

/// Range check of an inline access; only the checking build pays for it.
inline void check_access([[maybe_unused]] std::uint64_t target, [[maybe_unused]] std::size_t bytes,
                         [[maybe_unused]] std::size_t alignment,
                         [[maybe_unused]] std::source_location site,
                         [[maybe_unused]] access_purpose purpose = access_purpose::read) {
    if constexpr (SELION_CHECK_LEVEL >= 2) expect_range(target, bytes, alignment, site, purpose);
}

}  // namespace detail

/// Writes one value to the global address space.
/// On return the source may be reused. The value is visible to a rank that synchronises with this
/// one afterwards (signal, barrier), at the latest after `quiet()`.
/// @pre `target` points to an element of a live allocation.
/// @cost a store where the target is mapped; else one message of sizeof(T) bytes.
template <class T>
inline void put(global_ptr<T> target, const std::type_identity_t<T>& value,
                std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::put moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put needs a pointer to mutable elements");
    detail::check_access(target.bits(), sizeof(T), alignof(T), site, detail::access_purpose::write);
    if (std::byte* address = detail::local_address(*detail::current_context, target.bits()))
        [[likely]] {
        *reinterpret_cast<T*>(address) = value;
        return;
    }
    const T copy = value;  // so that the value itself need not live in memory
    detail::put_slow(target.bits(), &copy, sizeof(T), site);
}

/// Writes a span of elements to consecutive places. Completion and order as for one value; a span
/// of zero elements does nothing.
/// @pre source and target do not overlap.
template <class T>
inline void put(global_ptr<T> target, std::span<const std::type_identity_t<T>> source,
                std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::put moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put needs a pointer to mutable elements");
    if (source.empty()) return;
    detail::check_access(target.bits(), source.size_bytes(), alignof(T), site,
                         detail::access_purpose::write);
    if (std::byte* address = detail::local_address(*detail::current_context, target.bits()))
        [[likely]] {
        std::memcpy(address, source.data(), source.size_bytes());
        return;
    }
    detail::put_slow(target.bits(), source.data(), source.size_bytes(), site);
}

namespace detail {
SELION_API void put_elements_slow(std::uint64_t target, const void* source, std::size_t count,
                                  std::size_t element_bytes, std::source_location site);
}

/// Writes a span by one store for each element, as a loop over plain pointers does; `put` moves as
/// much at a time as it can. Where the target is mapped others see elements whole. Completion as
/// for `put`.
/// @pre source and target do not overlap.
/// @cost a store for each element, also between simulated cores
template <class T>
    requires((sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) &&
             alignof(T) == sizeof(T))
inline void put_elements(global_ptr<T> target, std::span<const std::type_identity_t<T>> source,
                         std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>,
                  "selion::put_elements moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put_elements needs a pointer to mutable elements");
    if (source.empty()) return;
    detail::check_access(target.bits(), source.size_bytes(), alignof(T), site,
                         detail::access_purpose::write);
    if (std::byte* address = detail::local_address(*detail::current_context, target.bits()))
        [[likely]] {
        T* const elements = reinterpret_cast<T*>(address);
        for (std::size_t i = 0; i < source.size(); ++i) {
            // relaxed: later synchronisation orders it; no two of them become one
            std::atomic_ref(elements[i]).store(source[i], std::memory_order_relaxed);
        }
        return;
    }
    detail::put_elements_slow(target.bits(), source.data(), source.size(), sizeof(T), site);
}

/// Reads one value from the global address space.
/// @cost a load where the source is mapped; else one message each way.
template <class T>
[[nodiscard]] inline std::remove_const_t<T> get(
    global_ptr<T> source, std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::get moves bytes: T must be trivially copyable");
    detail::check_access(source.bits(), sizeof(T), alignof(T), site);
    if (const std::byte* address = detail::local_address(*detail::current_context, source.bits()))
        [[likely]] {
        return *reinterpret_cast<const T*>(address);
    }
    union arriving {  // needs no default value
        arriving() {}
        std::remove_const_t<T> value;
    } here;
    detail::get_slow(&here.value, source.bits(), sizeof(T), site);
    return here.value;
}

/// Reads consecutive elements into a span of the caller's memory; zero elements do nothing.
/// @pre source and target do not overlap.
template <class T>
inline void get(std::span<std::remove_const_t<T>> target, global_ptr<T> source,
                std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::get moves bytes: T must be trivially copyable");
    if (target.empty()) return;
    detail::check_access(source.bits(), target.size_bytes(), alignof(T), site);
    if (const std::byte* address = detail::local_address(*detail::current_context, source.bits()))
        [[likely]] {
        std::memcpy(target.data(), address, target.size_bytes());
        return;
    }
    detail::get_slow(target.data(), source.bits(), target.size_bytes(), site);
}

/// Orders: every put, signal and atomic that this rank starts after the fence takes effect, at each
/// target, after those that it started before.
inline void fence(std::source_location site = std::source_location::current()) {
    if (detail::current_context->own.announces_writes) [[unlikely]]
        detail::release_writes_slow(site);
    // release: earlier puts before later ones; pairs with the reader's acquire [word.signal]
    std::atomic_thread_fence(std::memory_order_release);
}

/// Completes: on return all earlier puts and atomics of this rank are visible to every rank.
/// @cost a full memory fence where targets are mapped; else waits for the machine.
inline void quiet(std::source_location site = std::source_location::current()) {
    detail::quiet_slow(site);
}

}  // namespace selion
