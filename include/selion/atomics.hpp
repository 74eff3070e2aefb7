// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstring>
#include <source_location>
#include <type_traits>

#include <selion/counter.hpp>
#include <selion/detail/atomic_request.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/detail/slow_path.hpp>
#include <selion/global_ptr.hpp>
#include <selion/put_get.hpp>

/// Atomic operations on elements in the global address space, atomic against each other and against
/// `atomic_get`/`atomic_put` from any rank. They do not wake waiting ranks: use a `signal` for
/// that. All acquire and release: an atomic joins what earlier atomics on the same element
/// published. Elements are aligned to their size. Where the target is mapped an atomic is one
/// locked instruction, or a loop of them (minimum, maximum, floating point); else a message each
/// way, or one message for those that fetch nothing.
namespace selion {

/// Integers of 32 or 64 bits.
template <class T>
concept atomic_integer = std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8) &&
                         !std::same_as<std::remove_cv_t<T>, bool>;

/// What can be updated atomically: those integers, float and double.
template <class T>
concept atomic_element = atomic_integer<T> || std::same_as<T, float> || std::same_as<T, double>;

namespace detail {

template <atomic_element T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <atomic_element T>
constexpr std::uint64_t to_bits(T value) noexcept {
    return std::bit_cast<bits_of<T>>(value);
}

template <atomic_element T>
constexpr T from_bits(std::uint64_t bits) noexcept {
    return std::bit_cast<T>(static_cast<bits_of<T>>(bits));
}

template <atomic_element T>
constexpr element_kind kind_of =
    std::is_floating_point_v<T>
        ? element_kind::floating
        : (std::is_signed_v<T> ? element_kind::signed_integer : element_kind::unsigned_integer);

/// The element if its memory is mapped and operations are not recorded, else null.
template <class T>
inline T* element_address(global_ptr<T> target, access_purpose purpose, std::source_location site) {
    check_access(target.bits(), sizeof(T), alignof(T), site, purpose);
    return reinterpret_cast<T*>(local_address(*current_context, target.bits()));
}

/// One operation on an element of this process. @return the value before.
template <atomic_operation Operation, atomic_element T>
inline T apply_atomically(T& element, T operand, T compare) {
    const std::atomic_ref<T> target(element);
    // acquire, release, acq_rel: pairs with any atomic on the element [element.atomic]
    if constexpr (Operation == atomic_operation::load) {
        return target.load(std::memory_order_acquire);  // [element.atomic]
    } else if constexpr (Operation == atomic_operation::store) {
        target.store(operand, std::memory_order_release);  // [element.atomic]
        return operand;
    } else if constexpr (Operation == atomic_operation::swap) {
        return target.exchange(operand, std::memory_order_acq_rel);  // [element.atomic]
    } else if constexpr (Operation == atomic_operation::compare_swap) {
        target.compare_exchange_strong(compare, operand,
                                       std::memory_order_acq_rel,   // [element.atomic]
                                       std::memory_order_acquire);  // [element.atomic]
        return compare;
    } else if constexpr (Operation == atomic_operation::add && std::integral<T>) {
        return target.fetch_add(operand, std::memory_order_acq_rel);  // [element.atomic]
    } else if constexpr (Operation == atomic_operation::bit_or) {
        return target.fetch_or(operand, std::memory_order_acq_rel);  // [element.atomic]
    } else if constexpr (Operation == atomic_operation::bit_and) {
        return target.fetch_and(operand, std::memory_order_acq_rel);  // [element.atomic]
    } else if constexpr (Operation == atomic_operation::bit_xor) {
        return target.fetch_xor(operand, std::memory_order_acq_rel);  // [element.atomic]
    } else {
        T before = target.load(std::memory_order_relaxed);
        T after = combine_atomically(Operation, before, operand);
        // acq_rel: as the others [element.atomic]
        while (!target.compare_exchange_weak(before, after, std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
            after = combine_atomically(Operation, before, operand);
        }
        return before;
    }
}

template <atomic_element T>
constexpr atomic_request request_for(global_ptr<T> target, atomic_operation operation, T operand,
                                     T compare, bool fetches) {
    return {target.bits(), to_bits(operand), to_bits(compare), operation,
            sizeof(T),     kind_of<T>,       fetches};
}

/// Blocking. @param address of the target, if it has one here. @return the value before.
template <atomic_operation Operation, bool Fetches = true, atomic_element T>
inline T update_at(T* address, global_ptr<T> target, T operand, T compare,
                   std::source_location site) {
    if (address != nullptr) [[likely]] {
        return apply_atomically<Operation>(*address, operand, compare);
    }
    return from_bits<T>(
        atomic_slow(request_for(target, Operation, operand, compare, Fetches), site));
}

template <atomic_operation Operation, bool Fetches = true, atomic_element T>
inline T update(global_ptr<T> target, T operand, T compare, std::source_location site) {
    return update_at<Operation, Fetches>(element_address(target, purpose_of(Operation), site),
                                         target, operand, compare, site);
}

/// Split phase.
template <atomic_operation Operation, atomic_element T>
inline void start_update(T* before, global_ptr<T> target, T operand, T compare, counter& done,
                         std::source_location site) {
    if (T* address = element_address(target, purpose_of(Operation), site)) [[likely]] {
        const T found = apply_atomically<Operation>(*address, operand, compare);
        if (before != nullptr) *before = found;
        return count_here(*current_context, &done, site);
    }
    start_atomic(request_for(target, Operation, operand, compare, before != nullptr),
                 {before, &done}, site);
}

}  // namespace detail

/// Adds `amount` (integers wrap) and returns the value before.
template <atomic_element T>
inline T fetch_add(global_ptr<T> target, std::type_identity_t<T> amount,
                   std::source_location site = std::source_location::current()) {
    return detail::update<detail::atomic_operation::add>(target, amount, T{}, site);
}
/// Replaces the element and returns the value before.
template <atomic_element T>
inline T swap(global_ptr<T> target, std::type_identity_t<T> value,
              std::source_location site = std::source_location::current()) {
    return detail::update<detail::atomic_operation::swap>(target, value, T{}, site);
}
/// Replaces the element by `desired` if it equals `expected`; returns the value before, so that
/// equality with `expected` means success.
template <atomic_integer T>
inline T compare_swap(global_ptr<T> target, std::type_identity_t<T> expected,
                      std::type_identity_t<T> desired,
                      std::source_location site = std::source_location::current()) {
    return detail::update<detail::atomic_operation::compare_swap>(target, desired, expected, site);
}
template <atomic_integer T>
inline T fetch_or(global_ptr<T> target, std::type_identity_t<T> bits,
                  std::source_location site = std::source_location::current()) {
    return detail::update<detail::atomic_operation::bit_or>(target, bits, T{}, site);
}
template <atomic_integer T>
inline T fetch_and(global_ptr<T> target, std::type_identity_t<T> bits,
                   std::source_location site = std::source_location::current()) {
    return detail::update<detail::atomic_operation::bit_and>(target, bits, T{}, site);
}
template <atomic_integer T>
inline T fetch_xor(global_ptr<T> target, std::type_identity_t<T> bits,
                   std::source_location site = std::source_location::current()) {
    return detail::update<detail::atomic_operation::bit_xor>(target, bits, T{}, site);
}
/// Replaces the element by the smaller of it and `value`. A number wins over a NaN.
template <atomic_element T>
inline T fetch_min(global_ptr<T> target, std::type_identity_t<T> value,
                   std::source_location site = std::source_location::current()) {
    return detail::update<detail::atomic_operation::min>(target, value, T{}, site);
}
template <atomic_element T>
inline T fetch_max(global_ptr<T> target, std::type_identity_t<T> value,
                   std::source_location site = std::source_location::current()) {
    return detail::update<detail::atomic_operation::max>(target, value, T{}, site);
}

/// Without fetching: on return the operation has been started; `quiet()` completes it.
template <atomic_element T>
inline void atomic_add(global_ptr<T> target, std::type_identity_t<T> amount,
                       std::source_location site = std::source_location::current()) {
    detail::update<detail::atomic_operation::add, false>(target, amount, T{}, site);
}
template <atomic_integer T>
inline void atomic_or(global_ptr<T> target, std::type_identity_t<T> bits,
                      std::source_location site = std::source_location::current()) {
    detail::update<detail::atomic_operation::bit_or, false>(target, bits, T{}, site);
}
template <atomic_integer T>
inline void atomic_and(global_ptr<T> target, std::type_identity_t<T> bits,
                       std::source_location site = std::source_location::current()) {
    detail::update<detail::atomic_operation::bit_and, false>(target, bits, T{}, site);
}
template <atomic_integer T>
inline void atomic_xor(global_ptr<T> target, std::type_identity_t<T> bits,
                       std::source_location site = std::source_location::current()) {
    detail::update<detail::atomic_operation::bit_xor, false>(target, bits, T{}, site);
}
template <atomic_element T>
inline void atomic_min(global_ptr<T> target, std::type_identity_t<T> value,
                       std::source_location site = std::source_location::current()) {
    detail::update<detail::atomic_operation::min, false>(target, value, T{}, site);
}
template <atomic_element T>
inline void atomic_max(global_ptr<T> target, std::type_identity_t<T> value,
                       std::source_location site = std::source_location::current()) {
    detail::update<detail::atomic_operation::max, false>(target, value, T{}, site);
}

/// Reads an element that other ranks update atomically.
template <atomic_element T>
[[nodiscard]] inline T atomic_get(global_ptr<T> source,
                                  std::source_location site = std::source_location::current()) {
    return detail::update<detail::atomic_operation::load>(source, T{}, T{}, site);
}

/// Writes an element that other ranks read or update atomically.
template <atomic_element T>
inline void atomic_put(global_ptr<T> target, std::type_identity_t<T> value,
                       std::source_location site = std::source_location::current()) {
    detail::update<detail::atomic_operation::store, false>(target, value, T{}, site);
}

/// Split phase: starts the operation; `done` counts when `*before` has the value that was there.
/// @param before may be null: then nothing is fetched.
template <atomic_element T>
inline void fetch_add(T* before, global_ptr<T> target, std::type_identity_t<T> amount,
                      counter& done, std::source_location site = std::source_location::current()) {
    detail::start_update<detail::atomic_operation::add>(before, target, amount, T{}, done, site);
}
template <atomic_element T>
inline void swap(T* before, global_ptr<T> target, std::type_identity_t<T> value, counter& done,
                 std::source_location site = std::source_location::current()) {
    detail::start_update<detail::atomic_operation::swap>(before, target, value, T{}, done, site);
}
template <atomic_integer T>
inline void compare_swap(T* before, global_ptr<T> target, std::type_identity_t<T> expected,
                         std::type_identity_t<T> desired, counter& done,
                         std::source_location site = std::source_location::current()) {
    detail::start_update<detail::atomic_operation::compare_swap>(before, target, desired, expected,
                                                                 done, site);
}
template <atomic_integer T>
inline void fetch_or(T* before, global_ptr<T> target, std::type_identity_t<T> bits, counter& done,
                     std::source_location site = std::source_location::current()) {
    detail::start_update<detail::atomic_operation::bit_or>(before, target, bits, T{}, done, site);
}
template <atomic_integer T>
inline void fetch_and(T* before, global_ptr<T> target, std::type_identity_t<T> bits, counter& done,
                      std::source_location site = std::source_location::current()) {
    detail::start_update<detail::atomic_operation::bit_and>(before, target, bits, T{}, done, site);
}
template <atomic_integer T>
inline void fetch_xor(T* before, global_ptr<T> target, std::type_identity_t<T> bits, counter& done,
                      std::source_location site = std::source_location::current()) {
    detail::start_update<detail::atomic_operation::bit_xor>(before, target, bits, T{}, done, site);
}
template <atomic_element T>
inline void fetch_min(T* before, global_ptr<T> target, std::type_identity_t<T> value, counter& done,
                      std::source_location site = std::source_location::current()) {
    detail::start_update<detail::atomic_operation::min>(before, target, value, T{}, done, site);
}
template <atomic_element T>
inline void fetch_max(T* before, global_ptr<T> target, std::type_identity_t<T> value, counter& done,
                      std::source_location site = std::source_location::current()) {
    detail::start_update<detail::atomic_operation::max>(before, target, value, T{}, done, site);
}
/// Starts to read: `done` counts when `*value` is there.
template <atomic_element T>
inline void atomic_get(T* value, global_ptr<T> source, counter& done,
                       std::source_location site = std::source_location::current()) {
    detail::start_update<detail::atomic_operation::load>(value, source, T{}, T{}, done, site);
}

}  // namespace selion
