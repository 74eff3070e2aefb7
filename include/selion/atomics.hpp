// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <source_location>

#include <selion/detail/rank_context.hpp>
#include <selion/detail/slow_path.hpp>
#include <selion/global_ptr.hpp>
#include <selion/put_get.hpp>

/// Atomic operations on integers in the global address space, blocking, atomic against each other
/// and against `atomic_get`/`atomic_put` from any rank. They do not wake waiting ranks: use a
/// `signal` for that.
namespace selion {

/// Integers of 32 or 64 bits: what every machine can update atomically.
template <class T>
concept atomic_integer = std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8) &&
                         !std::same_as<std::remove_cv_t<T>, bool>;

namespace detail {

template <class T>
constexpr std::uint64_t to_bits(T value) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
}

template <class T>
inline T atomic_out_of_line(global_ptr<T> target, atomic_operation operation, T operand, T compare,
                            std::source_location site) {
    const atomic_request request{target.bits(), to_bits(operand), to_bits(compare), operation,
                                 sizeof(T)};
    return static_cast<T>(atomic_slow(request, site));
}

/// The element if its memory is mapped and operations are not recorded, else null.
template <class T>
inline T* atomic_address(global_ptr<T> target, std::source_location site) {
    check_access(target.bits(), sizeof(T), alignof(T), site);
    return reinterpret_cast<T*>(local_address(*current_context, target.bits()));
}

}  // namespace detail

/// Adds `amount` (wrapping) and returns the value before. Acquires and releases: it joins what
/// earlier atomics on the same element published.
/// @pre `target` is aligned to sizeof(T).
/// @cost one locked instruction where the target is mapped; else a message each way.
template <atomic_integer T>
inline T fetch_add(global_ptr<T> target, std::type_identity_t<T> amount,
                   std::source_location site = std::source_location::current()) {
    if (T* address = detail::atomic_address(target, site)) [[likely]] {
        // acq_rel: see above; pairs with any atomic on the element [element.atomic]
        return std::atomic_ref<T>(*address).fetch_add(amount, std::memory_order_acq_rel);
    }
    return detail::atomic_out_of_line<T>(target, detail::atomic_operation::fetch_add, amount, 0,
                                         site);
}

/// Replaces the element by `desired` if it equals `expected`; returns the value before, so that
/// equality with `expected` means success.
template <atomic_integer T>
inline T compare_swap(global_ptr<T> target, std::type_identity_t<T> expected,
                      std::type_identity_t<T> desired,
                      std::source_location site = std::source_location::current()) {
    if (T* address = detail::atomic_address(target, site)) [[likely]] {
        // acq_rel, acquire on failure: pairs with any atomic on the element [element.atomic]
        std::atomic_ref<T>(*address).compare_exchange_strong(
            expected, desired, std::memory_order_acq_rel, std::memory_order_acquire);
        return expected;
    }
    return detail::atomic_out_of_line<T>(target, detail::atomic_operation::compare_swap, desired,
                                         expected, site);
}

/// Reads an element that other ranks update atomically.
template <atomic_integer T>
[[nodiscard]] inline T atomic_get(global_ptr<T> source,
                                  std::source_location site = std::source_location::current()) {
    if (T* address = detail::atomic_address(source, site)) [[likely]] {
        // acquire: pairs with any atomic on the element [element.atomic]
        return std::atomic_ref<T>(*address).load(std::memory_order_acquire);
    }
    return detail::atomic_out_of_line<T>(source, detail::atomic_operation::load, 0, 0, site);
}

/// Writes an element that other ranks read or update atomically.
template <atomic_integer T>
inline void atomic_put(global_ptr<T> target, std::type_identity_t<T> value,
                       std::source_location site = std::source_location::current()) {
    if (T* address = detail::atomic_address(target, site)) [[likely]] {
        // release: pairs with any atomic on the element [element.atomic]
        std::atomic_ref<T>(*address).store(value, std::memory_order_release);
        return;
    }
    detail::atomic_out_of_line<T>(target, detail::atomic_operation::store, value, 0, site);
}

}  // namespace selion
