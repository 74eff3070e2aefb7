// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Global addresses: put together and taken apart.
namespace selion::detail {

/// Bits of a global address: segment (4) | rank (20) | offset (40). Segment and rank lie together
/// so that one comparison tests both.
inline constexpr unsigned offset_bits = 40;
inline constexpr unsigned rank_bits = 20;
inline constexpr std::uint64_t offset_mask = (std::uint64_t{1} << offset_bits) - 1;
inline constexpr std::uint64_t rank_mask = (std::uint64_t{1} << rank_bits) - 1;

/// The symmetric heap. Segment 0 is nobody's, so that neither zeroed memory nor anything that is
/// reckoned from null by an index or a rank names a place.
inline constexpr std::uint64_t heap_segment = 1;
inline constexpr std::uint64_t null_address = 0;

/// Segment and rank of a place in a rank's symmetric heap, as they stand above its offset.
constexpr std::uint64_t heap_of(std::uint64_t rank) noexcept {
    return (heap_segment << rank_bits) | rank;
}
constexpr std::uint64_t global_address(std::uint64_t rank, std::uint64_t offset) noexcept {
    return (heap_of(rank) << offset_bits) + offset;
}

constexpr std::uint32_t rank_of(std::uint64_t bits) noexcept {
    return static_cast<std::uint32_t>((bits >> offset_bits) & rank_mask);
}
constexpr std::uint64_t segment_of(std::uint64_t bits) noexcept {
    return bits >> (offset_bits + rank_bits);
}

}  // namespace selion::detail
