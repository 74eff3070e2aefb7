// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace selion::detail {

/// Divides many numbers below 2^32 by one, without a division: by a shift, or by the upper half of
/// a product (D. Lemire, O. Kaser, N. Kurz: Faster remainder by direct computation, Software:
/// Practice and Experience 49(6), 2019).
class divider {
public:
    constexpr divider() = default;
    /// @param by from 1 to 2^32 - 1.
    constexpr explicit divider(std::uint64_t by) noexcept
        : by_(by),
          factor_(std::has_single_bit(by) ? 0 : ~std::uint64_t{0} / by + 1),
          shift_(static_cast<unsigned>(std::bit_width(by)) - 1) {}

    bool operator==(const divider&) const = default;

    constexpr std::uint64_t by() const noexcept { return by_; }
    constexpr std::uint64_t quotient(std::uint64_t number) const noexcept {
        if (factor_ == 0) return number >> shift_;
        return static_cast<std::uint64_t>((static_cast<wide>(factor_) * number) >> 64);
    }

private:
    __extension__ typedef unsigned __int128 wide;

    std::uint64_t by_ = 1;
    std::uint64_t factor_ = 0;  ///< 2^64 / by, rounded up; 0: a power of two
    unsigned shift_ = 0;
};

}  // namespace selion::detail
