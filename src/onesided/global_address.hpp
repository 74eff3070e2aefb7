// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "selion/detail/rank_context.hpp"

/// Global addresses of places in segment 0, taken apart and put together.
namespace selion::detail {

constexpr std::uint64_t global_address(std::uint32_t rank, std::uint64_t offset) {
    return (std::uint64_t{rank} << offset_bits) + offset;
}

constexpr std::uint32_t rank_of(std::uint64_t bits) {
    return static_cast<std::uint32_t>((bits >> offset_bits) & rank_mask);
}

/// Global address of bytes that all lie in the rank's own segment; nothing: they do not.
inline std::optional<std::uint64_t> own_address(const rank_context& context, const std::byte* start,
                                                std::size_t bytes) {
    const std::uint64_t own = global_address(context.rank, 0);
    const auto place = reinterpret_cast<std::uint64_t>(start);
    const auto segment = reinterpret_cast<std::uint64_t>(mapped_address(context, own));
    if (place < segment || place - segment + bytes > context.reserve_bytes) return std::nullopt;
    return own + (place - segment);
}

}  // namespace selion::detail
