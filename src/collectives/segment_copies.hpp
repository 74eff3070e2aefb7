// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// Bytes of copies, each kind of them, that are kept for the next time.
inline constexpr std::uint64_t most_kept_bytes = 16 * 1024 * 1024;

/// Memory in a rank's segment for data that others are to read. Pieces are kept for the next time:
/// small ones all, large ones as far as the heap has plenty. Pages that are given back cost
/// everybody who touches them anew a fault for each, which together take longer than the copy.
class segment_copies {
public:
    explicit segment_copies(detail::rank_context& context) : context_(context) {}
    ~segment_copies();
    segment_copies(const segment_copies&) = delete;
    segment_copies& operator=(const segment_copies&) = delete;

    /// @return global address of memory that nobody else has, until `reuse`; nothing: the heap has
    /// no room.
    std::optional<std::uint64_t> take(std::size_t bytes);
    /// All memory may be handed out again.
    void reuse();

private:
    struct piece {
        std::uint64_t offset;
        std::uint64_t bytes;
        bool is_taken;
    };
    detail::rank_context& context_;
    std::vector<piece> pieces_;
};

}  // namespace selion::collectives
