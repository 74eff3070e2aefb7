// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <selion/rank.hpp>

namespace selion {

/// What a header handler knows of a message besides its header.
struct message_info {
    rank_id origin;
    std::size_t data_bytes;
    /// The data where they have arrived, for handlers that need them only while they run. Aligned
    /// to 16 bytes unless their sender has lent them.
    std::span<const std::byte> data;
};

}  // namespace selion
