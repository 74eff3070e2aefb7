// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "selion/detail/global_address.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::detail {

/// Global address of bytes that all lie in the rank's own heap; nothing: they do not.
inline std::optional<std::uint64_t> own_address(const rank_context& context, const std::byte* start,
                                                std::size_t bytes) {
    const std::uint64_t own = global_address(context.rank, 0);
    const auto place = reinterpret_cast<std::uint64_t>(start);
    const auto segment = reinterpret_cast<std::uint64_t>(mapped_address(context, own));
    if (place < segment || place - segment + bytes > context.reserve_bytes) return std::nullopt;
    return own + (place - segment);
}

}  // namespace selion::detail
