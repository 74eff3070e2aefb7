// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>

/// What a piece of code costs, said once by the program and spent by simulated machines. On real
/// machines, where work takes its time by itself, a charge is one test of a flag.
namespace selion {

/// Amounts of work; sums of them are work too: `charge(flops(2) + loads(3))`.
struct work {
    std::uint64_t flops = 0;
    std::uint64_t int_ops = 0;
    std::uint64_t loads = 0;         ///< of a word that the cache usually has
    std::uint64_t stores = 0;        ///< likewise
    std::uint64_t copied_bytes = 0;  ///< by memcpy and its like
    std::int64_t picoseconds = 0;    ///< whatever the machine

    friend constexpr work operator+(const work& left, const work& right) noexcept {
        return {left.flops + right.flops,
                left.int_ops + right.int_ops,
                left.loads + right.loads,
                left.stores + right.stores,
                left.copied_bytes + right.copied_bytes,
                left.picoseconds + right.picoseconds};
    }
    /// The same work so many times.
    friend constexpr work operator*(const work& once, std::uint64_t count) noexcept {
        return {once.flops * count,        once.int_ops * count,
                once.loads * count,        once.stores * count,
                once.copied_bytes * count, once.picoseconds * static_cast<std::int64_t>(count)};
    }
};

/// Floating-point operations; a fused multiply-add counts as two.
constexpr work flops(std::uint64_t count) noexcept { return {.flops = count}; }
constexpr work int_ops(std::uint64_t count) noexcept { return {.int_ops = count}; }
constexpr work loads(std::uint64_t count) noexcept { return {.loads = count}; }
constexpr work stores(std::uint64_t count) noexcept { return {.stores = count}; }
constexpr work copied(std::uint64_t bytes) noexcept { return {.copied_bytes = bytes}; }
/// Time that does not depend on the machine.
constexpr work nanoseconds(std::int64_t count) noexcept { return {.picoseconds = count * 1000}; }

namespace detail {
SELION_API void charge_slow(const work& amount);
}  // namespace detail

/// Spends the time that the machine needs for it, on the calling rank's clock.
inline void charge(const work& amount) {
    if (detail::current_context->spends_time) [[unlikely]]
        detail::charge_slow(amount);
}

}  // namespace selion
