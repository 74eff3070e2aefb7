// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

#include <selion/atomics.hpp>
#include <selion/detail/coherent_access.hpp>
#include <selion/detail/number_beside.hpp>
#include <selion/global_ptr.hpp>
#include <selion/put_get.hpp>

namespace selion {

/// An element of coherent memory: reading it and assigning to it are accesses that are done when
/// they return (assigning with `memory_consistency::release`: when the rank releases). One that
/// lies in two blocks is two of them. A variable that is declared `auto` holds the reference, and
/// reads when it is used.
template <class T>
class cached_reference {
public:
    using value_type = std::remove_const_t<T>;

    constexpr cached_reference(detail::block_view* view, global_ptr<T> where,
                               std::source_location site) noexcept
        : view_(view), where_(where), site_(site) {}
    cached_reference(const cached_reference&) = default;

    operator value_type() const { return get(); }
    /// @cost of a hit: a look and a load; else messages, see src/coherence/protocol.md.
    value_type get() const {
        check_space();
        if (is_inside()) [[likely]] {
            if (const std::byte* place = view_->readable(where_.bits())) [[likely]] {
                return *reinterpret_cast<const T*>(place);
            }
        }
        if (view_->is_direct) return selion::get(where_, site_);
        return get_slowly(view_, where_.bits(), site_);
    }
    const cached_reference& operator=(const T& value) const {
        set(value);
        return *this;
    }
    /// Between two elements the value is copied.
    const cached_reference& operator=(const cached_reference& other) const {
        set(other.get());
        return *this;
    }
    void set(const value_type& value) const {
        static_assert(!std::is_const_v<T>,
                      "selion: a reference to constant elements cannot be written");
        check_space();
        if (is_inside()) [[likely]] {
            if (std::byte* place = view_->writable(where_.bits())) [[likely]] {
                *reinterpret_cast<T*>(place) = value;
                return;
            }
        }
        if (view_->is_direct) return put(where_, value, site_);
        set_slowly(view_, where_.bits(), value, site_);
    }

    /// Calls `what` with the element, which no other rank reads or writes meanwhile: any change is
    /// atomic.
    /// @param what changes the element and does nothing else: it may be called more than once, and
    /// while the caller waits. An exception of it ends the job. @pre not `write_protocol::update`
    template <std::invocable<T&> Function>
    void change(Function&& what) const
        requires atomic_element<T>
    {
        check_space();
        if (view_->has_updates) [[unlikely]]
            detail::end_for_change(site_);
        auto guarded = [&](T& element) {
            try {
                what(element);
            } catch (...) {
                detail::end_for_thrown_change(site_);
            }
        };
        if (view_->is_direct) return change_directly(guarded);
        using function = decltype(guarded);
        constexpr auto call = [](std::byte* place, void* to_call) {
            (*static_cast<function*>(to_call))(*reinterpret_cast<T*>(place));
        };
        if (std::byte* const place = view_->writable(where_.bits())) return call(place, &guarded);
        detail::change_coherent(*view_, where_.bits(), sizeof(T), call, &guarded, site_);
    }
    /// Adds and returns the value before, atomically.
    value_type fetch_add(const value_type& amount) const {
        value_type before{};
        change([&](T& element) {
            before = element;
            element = static_cast<T>(element + amount);
        });
        return before;
    }
    value_type swap(const value_type& value) const {
        value_type before{};
        change([&](T& element) { before = std::exchange(element, value); });
        return before;
    }
    /// Replaces the element by `desired` if it equals `expected`. @return the value before.
    value_type compare_swap(const value_type& expected, const value_type& desired) const {
        value_type before{};
        change([&](T& element) {
            before = element;
            if (element == expected) element = desired;
        });
        return before;
    }

    /// Read, changed and written, in one: atomic. As for a plain element, the operand is not
    /// rounded.
    const cached_reference& operator+=(const T& by) const {
        return apply([&](auto& e) { e += by; });
    }
    template <detail::number_beside<T> By>
    const cached_reference& operator+=(By by) const {
        return apply([&](auto& e) {
            e = static_cast<T>(detail::with_both<T, By>(e) + detail::with_both<T, By>(by));
        });
    }
    const cached_reference& operator-=(const T& by) const {
        return apply([&](auto& e) { e -= by; });
    }
    template <detail::number_beside<T> By>
    const cached_reference& operator-=(By by) const {
        return apply([&](auto& e) {
            e = static_cast<T>(detail::with_both<T, By>(e) - detail::with_both<T, By>(by));
        });
    }
    const cached_reference& operator*=(const T& by) const {
        return apply([&](auto& e) { e *= by; });
    }
    template <detail::number_beside<T> By>
    const cached_reference& operator*=(By by) const {
        return apply([&](auto& e) {
            e = static_cast<T>(detail::with_both<T, By>(e) * detail::with_both<T, By>(by));
        });
    }
    const cached_reference& operator/=(const T& by) const {
        return apply([&](auto& e) { e /= by; });
    }
    template <detail::number_beside<T> By>
    const cached_reference& operator/=(By by) const {
        return apply([&](auto& e) {
            e = static_cast<T>(detail::with_both<T, By>(e) / detail::with_both<T, By>(by));
        });
    }
    const cached_reference& operator|=(const T& by) const {
        return apply([&](auto& e) { e |= by; });
    }
    template <detail::number_beside<T> By>
    const cached_reference& operator|=(By by) const {
        return apply([&](auto& e) {
            e = static_cast<T>(detail::with_both<T, By>(e) | detail::with_both<T, By>(by));
        });
    }
    const cached_reference& operator&=(const T& by) const {
        return apply([&](auto& e) { e &= by; });
    }
    template <detail::number_beside<T> By>
    const cached_reference& operator&=(By by) const {
        return apply([&](auto& e) {
            e = static_cast<T>(detail::with_both<T, By>(e) & detail::with_both<T, By>(by));
        });
    }
    const cached_reference& operator^=(const T& by) const {
        return apply([&](auto& e) { e ^= by; });
    }
    template <detail::number_beside<T> By>
    const cached_reference& operator^=(By by) const {
        return apply([&](auto& e) {
            e = static_cast<T>(detail::with_both<T, By>(e) ^ detail::with_both<T, By>(by));
        });
    }
    const cached_reference& operator++() const {
        return apply([](auto& e) { ++e; });
    }
    const cached_reference& operator--() const {
        return apply([](auto& e) { --e; });
    }

    constexpr global_ptr<T> address() const noexcept { return where_; }

private:
    void check_space() const {
        if constexpr (SELION_CHECK_LEVEL >= 2) detail::expect_space(view_, site_);
    }
    /// Blocks are at least of 8 bytes.
    static constexpr bool is_never_cut =
        sizeof(T) <= 8 && std::has_single_bit(sizeof(T)) && alignof(T) == sizeof(T);
    bool is_inside() const {
        if constexpr (is_never_cut) return true;
        return view_->holds(where_.bits(), sizeof(T));
    }
    template <class Function>
    const cached_reference& apply(const Function& what) const {
        static_assert(!std::is_const_v<T>,
                      "selion: a reference to constant elements cannot be changed");
        change(what);
        return *this;
    }
    // Without the object, so that it need not live in memory; nor need a value that fits registers.
    using passed_value = std::conditional_t<(sizeof(T) <= 16), value_type, const value_type&>;
    [[gnu::noinline]] static value_type get_slowly(detail::block_view* view, std::uint64_t bits,
                                                   std::source_location site) {
        union arriving {  // needs no default value
            arriving() {}
            value_type value;
        } here;
        detail::read_coherent(*view, bits, &here.value, sizeof(T), site);
        return here.value;
    }
    [[gnu::noinline]] static void set_slowly(detail::block_view* view, std::uint64_t bits,
                                             passed_value value, std::source_location site) {
        detail::write_coherent(*view, bits, &value, sizeof(T), site);
    }
    /// Where all memory is mapped and nobody has copies.
    template <class Function>
    void change_directly(const Function& what) const {
        std::atomic_ref<T> element(*where_.local());
        T before = element.load(std::memory_order_relaxed);
        T after;
        do {
            after = before;
            what(after);
            // acq_rel: as atomic operations on the element [element.atomic]
        } while (!element.compare_exchange_weak(before, after, std::memory_order_acq_rel,
                                                std::memory_order_relaxed));
    }

    detail::block_view* view_;
    global_ptr<T> where_;
    std::source_location site_;
};

}  // namespace selion
