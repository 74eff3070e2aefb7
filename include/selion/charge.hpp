// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>

/// What a piece of code costs, said once by the program and spent by simulated machines. On real
/// machines, where work takes its time by itself, a charge is one test of a flag.
namespace selion {

namespace detail {

/// The sum, or the nearest number that there is.
template <class Integer>
constexpr Integer bounded_sum(Integer left, Integer right) noexcept {
    using limits = std::numeric_limits<Integer>;
    if (right >= 0 && left > limits::max() - right) return limits::max();
    if (right < 0 && left < limits::min() - right) return limits::min();
    return static_cast<Integer>(left + right);
}

/// So many times `once`, or the nearest number that there is.
template <class Integer>
constexpr Integer bounded_product(Integer once, std::uint64_t count) noexcept {
    using limits = std::numeric_limits<Integer>;
    if (once == 0 || count == 0) return 0;
    if (once > 0 && count > static_cast<std::uint64_t>(limits::max() / once)) return limits::max();
    const auto most = static_cast<std::uint64_t>(limits::max());
    if (once < 0 && (count > most || once < limits::min() / static_cast<Integer>(count))) {
        return limits::min();
    }
    return static_cast<Integer>(once * static_cast<Integer>(count));
}

}  // namespace detail

/// Amounts of work; sums of them are work too: `charge(flops(2) + loads(3))`. What would be more
/// than its type holds is the most that it holds.
struct work {
    std::uint64_t flops = 0;
    std::uint64_t int_ops = 0;
    std::uint64_t loads = 0;         ///< of a word that the cache usually has
    std::uint64_t stores = 0;        ///< likewise
    std::uint64_t copied_bytes = 0;  ///< by memcpy and its like
    std::int64_t picoseconds = 0;    ///< whatever the machine

    friend constexpr work operator+(const work& left, const work& right) noexcept {
        return {detail::bounded_sum(left.flops, right.flops),
                detail::bounded_sum(left.int_ops, right.int_ops),
                detail::bounded_sum(left.loads, right.loads),
                detail::bounded_sum(left.stores, right.stores),
                detail::bounded_sum(left.copied_bytes, right.copied_bytes),
                detail::bounded_sum(left.picoseconds, right.picoseconds)};
    }
    /// The same work so many times.
    friend constexpr work operator*(const work& once, std::uint64_t count) noexcept {
        return {detail::bounded_product(once.flops, count),
                detail::bounded_product(once.int_ops, count),
                detail::bounded_product(once.loads, count),
                detail::bounded_product(once.stores, count),
                detail::bounded_product(once.copied_bytes, count),
                detail::bounded_product(once.picoseconds, count)};
    }
};

/// Floating-point operations; a fused multiply-add counts as two.
constexpr work flops(std::uint64_t count) noexcept { return {.flops = count}; }
constexpr work int_ops(std::uint64_t count) noexcept { return {.int_ops = count}; }
constexpr work loads(std::uint64_t count) noexcept { return {.loads = count}; }
constexpr work stores(std::uint64_t count) noexcept { return {.stores = count}; }
constexpr work copied(std::uint64_t bytes) noexcept { return {.copied_bytes = bytes}; }
/// Time that does not depend on the machine.
constexpr work nanoseconds(std::int64_t count) noexcept {
    return {.picoseconds = detail::bounded_product(count, 1000)};
}

namespace detail {
SELION_API void charge_slow(const work& amount);
}  // namespace detail

/// Spends the time that the machine needs for it, on the calling rank's clock.
inline void charge(const work& amount) {
    if (detail::current_context->spends_time) [[unlikely]]
        detail::charge_slow(amount);
}

}  // namespace selion
