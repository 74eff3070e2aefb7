// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include <selion/detail/global_address.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/rank.hpp>

namespace selion {

/// Types that may be moved between ranks byte by byte. What must not be copied, as a signal and
/// whatever holds one, is none of them, though some compilers call it trivially copyable.
template <class T>
concept transferable =
    std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<std::remove_all_extents_t<T>>;

/// Pointer to a `T` in the global address space: 64 bits that name segment, rank and offset, valid
/// on every rank. Null is zero, as in memory that has just been allocated, and less than all
/// others. Arithmetic counts elements and stays on the rank; from null it leads nowhere.
template <class T>
class global_ptr {
public:
    using element_type = T;

    constexpr global_ptr() noexcept = default;
    constexpr global_ptr(std::nullptr_t) noexcept {}
    constexpr explicit global_ptr(std::uint64_t bits) noexcept : bits_(bits) {}
    /// @param offset bytes from the start of the rank's symmetric heap.
    constexpr global_ptr(rank_id rank, std::uint64_t offset) noexcept
        : bits_(detail::global_address(std::uint64_t{rank}, offset)) {}
    /// A pointer to mutable elements converts to one to constant elements.
    template <class U>
        requires(std::is_convertible_v<U (*)[], T (*)[]> && !std::is_same_v<U, T>)
    constexpr global_ptr(global_ptr<U> other) noexcept : bits_(other.bits()) {}

    constexpr rank_id rank() const noexcept { return detail::rank_of(bits_); }
    /// 1, the symmetric heap; 0 of null and of what is reckoned from it.
    constexpr unsigned segment() const noexcept {
        return static_cast<unsigned>(detail::segment_of(bits_));
    }
    /// Bytes from the start of the rank's segment.
    constexpr std::uint64_t offset() const noexcept { return bits_ & detail::offset_mask; }
    constexpr std::uint64_t bits() const noexcept { return bits_; }
    constexpr explicit operator bool() const noexcept { return bits_ != detail::null_address; }

    /// The same place in another rank's part of a symmetric allocation.
    constexpr global_ptr on(rank_id rank) const noexcept {
        constexpr std::uint64_t field = detail::rank_mask << detail::offset_bits;
        return global_ptr((bits_ & ~field) | (std::uint64_t{rank} << detail::offset_bits));
    }

    /// Plain pointer if the calling rank's process maps the element, else null. Always set for the
    /// caller's own memory. @cost no communication.
    T* local() const noexcept {
        return reinterpret_cast<T*>(detail::mapped_address(*detail::current_context, bits_));
    }

    constexpr global_ptr operator+(std::ptrdiff_t count) const noexcept {
        return global_ptr(bits_ + static_cast<std::uint64_t>(count * std::ptrdiff_t{sizeof(T)}));
    }
    constexpr global_ptr operator-(std::ptrdiff_t count) const noexcept { return *this + -count; }
    constexpr global_ptr& operator+=(std::ptrdiff_t count) noexcept {
        return *this = *this + count;
    }
    constexpr global_ptr& operator-=(std::ptrdiff_t count) noexcept {
        return *this = *this - count;
    }
    constexpr global_ptr& operator++() noexcept { return *this += 1; }
    constexpr global_ptr& operator--() noexcept { return *this -= 1; }
    constexpr global_ptr operator++(int) noexcept {
        const global_ptr before = *this;
        ++*this;
        return before;
    }
    constexpr global_ptr operator--(int) noexcept {
        const global_ptr before = *this;
        --*this;
        return before;
    }
    /// Elements between two pointers of one rank.
    constexpr std::ptrdiff_t operator-(global_ptr other) const noexcept {
        return static_cast<std::ptrdiff_t>(bits_ - other.bits_) / std::ptrdiff_t{sizeof(T)};
    }
    constexpr auto operator<=>(const global_ptr&) const noexcept = default;

    /// A member of the struct pointed to, for example its signal:
    /// `cell.member(&cell_type::arrived)`.
    template <class Member, class Struct>
        requires(std::is_same_v<std::remove_const_t<T>, Struct> && !std::is_function_v<Member>)
    global_ptr<std::conditional_t<std::is_const_v<T>, const Member, Member>> member(
        Member Struct::*place) const noexcept {
        // Only addresses are compared; an object, which may be large, is nowhere.
        constexpr std::uintptr_t somewhere = std::uintptr_t{1} << 30;
        const auto* object = reinterpret_cast<const Struct*>(somewhere);
        const auto distance = reinterpret_cast<std::uintptr_t>(&(object->*place)) - somewhere;
        return global_ptr<std::conditional_t<std::is_const_v<T>, const Member, Member>>(
            bits_ + static_cast<std::uint64_t>(distance));
    }

    /// The same address seen as another type. @pre suitably aligned.
    template <class U>
    constexpr global_ptr<U> reinterpret() const noexcept {
        return global_ptr<U>(bits_);
    }

private:
    std::uint64_t bits_ = detail::null_address;
};

static_assert(sizeof(global_ptr<double>) == 8);

}  // namespace selion

/// For `std::unordered_map` and its like.
template <class T>
struct std::hash<selion::global_ptr<T>> {
    std::size_t operator()(selion::global_ptr<T> place) const noexcept {
        return std::hash<std::uint64_t>()(place.bits());
    }
};
