// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace selion::onesided {

/// Hands out ranges of an address space that grows from 0. Deterministic: equal sequences of calls
/// give equal ranges, on every rank.
class extent_allocator {
public:
    struct extent {
        std::uint64_t start;
        std::uint64_t bytes;
        bool was_used;  ///< holds what an earlier owner left
    };

    /// First free range that fits, else new ground.
    /// @param bytes multiple of `alignment`. @param limit the range must end at or before it.
    std::optional<extent> allocate(std::uint64_t bytes, std::uint64_t alignment,
                                   std::uint64_t limit);
    /// @return the bytes given back; nothing when no allocation starts there.
    std::optional<std::uint64_t> deallocate(std::uint64_t start);

    std::uint64_t used_bytes() const { return used_; }
    /// Bytes of the largest range that was given back before the frontier.
    std::uint64_t largest_gap() const;
    /// End of the ground that was ever handed out and is not wholly free behind.
    std::uint64_t frontier() const { return frontier_; }
    /// The frontier at its highest: beyond it memory is fresh.
    std::uint64_t highest() const { return highest_; }

private:
    std::map<std::uint64_t, std::uint64_t> free_;  ///< start and bytes; neighbours are merged
    std::map<std::uint64_t, std::uint64_t> live_;
    std::uint64_t frontier_ = 0;
    std::uint64_t highest_ = 0;
    std::uint64_t used_ = 0;
};

}  // namespace selion::onesided
