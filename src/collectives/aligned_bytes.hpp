// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "selion/detail/shared_word.hpp"

namespace selion::collectives {

/// Bytes of private memory, as aligned as elements may be, not set to anything.
class aligned_bytes {
public:
    aligned_bytes() = default;
    explicit aligned_bytes(std::size_t bytes) { reserve(bytes); }

    /// Makes room; what was there is lost unless there was room already.
    void reserve(std::size_t bytes) {
        if (bytes <= bytes_) return;
        lines_ = std::make_unique_for_overwrite<line[]>((bytes + sizeof(line) - 1) / sizeof(line));
        bytes_ = bytes;
    }
    std::byte* data() { return reinterpret_cast<std::byte*>(lines_.get()); }
    const std::byte* data() const { return reinterpret_cast<const std::byte*>(lines_.get()); }

private:
    struct alignas(detail::line_bytes) line {
        std::byte bytes[detail::line_bytes];
    };
    std::unique_ptr<line[]> lines_;
    std::size_t bytes_ = 0;
};

}  // namespace selion::collectives
