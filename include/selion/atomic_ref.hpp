// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <type_traits>

#include <selion/atomics.hpp>
#include <selion/global_ptr.hpp>

namespace selion {

/// An element that a rank updates atomically again and again, its own or another rank's: as
/// `std::atomic_ref`. Where the element lies is found out once, so that in a loop an operation
/// costs no more than the processor's locked instruction where the element is mapped. Operations
/// are the functions of atomics.hpp of these names; `get` is `atomic_get`, and `put` is
/// `atomic_put`, which `quiet()` completes.
///
/// Belongs to the rank that has made it, and to threads that work for that rank: another process
/// maps the element elsewhere. Must not be used after the element is deallocated.
template <atomic_element T>
class atomic_ref {
public:
    using value_type = T;

    /// @param target aligned to its size, of any rank.
    explicit atomic_ref(global_ptr<T> target,
                        std::source_location site = std::source_location::current())
        : target_(target),
          address_(detail::element_address(target, detail::access_purpose::read, site)) {}

    [[nodiscard]] T get(std::source_location site = std::source_location::current()) const {
        return update<detail::atomic_operation::load>(T{}, T{}, site);
    }
    void put(T value, std::source_location site = std::source_location::current()) const {
        update<detail::atomic_operation::store, false>(value, T{}, site);
    }
    /// @return the value before; so do all that follow.
    T swap(T value, std::source_location site = std::source_location::current()) const {
        return update<detail::atomic_operation::swap>(value, T{}, site);
    }
    /// Replaces the element by `desired` if it equals `expected`.
    T compare_swap(T expected, T desired,
                   std::source_location site = std::source_location::current()) const
        requires atomic_integer<T>
    {
        return update<detail::atomic_operation::compare_swap>(desired, expected, site);
    }
    T fetch_add(T amount, std::source_location site = std::source_location::current()) const {
        return update<detail::atomic_operation::add>(amount, T{}, site);
    }
    T fetch_or(T bits, std::source_location site = std::source_location::current()) const
        requires atomic_integer<T>
    {
        return update<detail::atomic_operation::bit_or>(bits, T{}, site);
    }
    T fetch_and(T bits, std::source_location site = std::source_location::current()) const
        requires atomic_integer<T>
    {
        return update<detail::atomic_operation::bit_and>(bits, T{}, site);
    }
    T fetch_xor(T bits, std::source_location site = std::source_location::current()) const
        requires atomic_integer<T>
    {
        return update<detail::atomic_operation::bit_xor>(bits, T{}, site);
    }
    T fetch_min(T value, std::source_location site = std::source_location::current()) const {
        return update<detail::atomic_operation::min>(value, T{}, site);
    }
    T fetch_max(T value, std::source_location site = std::source_location::current()) const {
        return update<detail::atomic_operation::max>(value, T{}, site);
    }

    global_ptr<T> target() const noexcept { return target_; }

private:
    template <detail::atomic_operation Operation, bool Fetches = true>
    T update(T operand, T compare, std::source_location site) const {
        return detail::update_at<Operation, Fetches>(address_, target_, operand, compare, site);
    }

    global_ptr<T> target_;
    T* address_;  ///< null: operations go through the machine
};

template <class T>
atomic_ref(global_ptr<T>) -> atomic_ref<T>;

}  // namespace selion
