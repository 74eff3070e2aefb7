// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace selion::coherence {

/// Memory for copies of blocks, each aligned as blocks are.
class frame_store {
public:
    explicit frame_store(std::size_t block_bytes) : block_bytes_(block_bytes) {}

    std::byte* take() {
        if (free_.empty()) grow();
        std::byte* const frame = free_.back();
        free_.pop_back();
        return frame;
    }
    void give_back(std::byte* frame) { free_.push_back(frame); }

private:
    struct unmap {
        void operator()(std::byte* slab) const { std::free(slab); }
    };
    static constexpr std::size_t line_bytes = 64;
    static constexpr std::size_t most_aligned_bytes = 4096;  ///< of symmetric memory
    static constexpr std::size_t slab_bytes = std::size_t{64} * 1024;

    void grow() {
        const std::size_t bytes = block_bytes_ > slab_bytes ? block_bytes_ : slab_bytes;
        // An element that lies within a block is aligned in a copy as it is at home.
        const std::size_t alignment = std::clamp(block_bytes_, line_bytes, most_aligned_bytes);
        auto* const slab = static_cast<std::byte*>(std::aligned_alloc(alignment, bytes));
        if (slab == nullptr) throw std::bad_alloc();
        slabs_.emplace_back(slab);
        for (std::size_t end = bytes; end >= block_bytes_; end -= block_bytes_) {
            free_.push_back(slab + end - block_bytes_);
        }
    }

    std::size_t block_bytes_;
    std::vector<std::unique_ptr<std::byte, unmap>> slabs_;
    std::vector<std::byte*> free_;
};

}  // namespace selion::coherence
