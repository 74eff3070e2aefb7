// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace selion {

/// How long something may take: any duration of std::chrono. What nanoseconds cannot count, some
/// 292 years, and infinity mean for ever; less than nothing, and what is no number, mean nothing.
class time_limit {
public:
    template <class Number, class Period>
    constexpr time_limit(std::chrono::duration<Number, Period> time) noexcept
        : nanoseconds_(counted(time)) {}

    constexpr std::int64_t nanoseconds() const noexcept { return nanoseconds_; }

private:
    static constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();

    template <class Number, class Period>
    static constexpr std::int64_t counted(std::chrono::duration<Number, Period> time) noexcept {
        // Floating-point numbers do not overflow, and tell what would.
        const std::chrono::duration<double, std::nano> about = time;
        if (!(about.count() > 0)) return 0;
        if (about.count() >= static_cast<double>(for_ever)) return for_ever;
        return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    }

    std::int64_t nanoseconds_;
};

namespace detail {
/// In place of a limit's nanoseconds, for calls that take none.
inline constexpr std::int64_t wait_for_ever = -1;
}  // namespace detail

}  // namespace selion
