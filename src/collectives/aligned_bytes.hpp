// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "machine/host/spare_memory.hpp"
#include "selion/detail/shared_word.hpp"

namespace selion::collectives {

/// Bytes of private memory, as aligned as elements may be, not set to anything.
class aligned_bytes {
public:
    aligned_bytes() = default;
    explicit aligned_bytes(std::size_t bytes) { reserve(bytes); }

    /// Makes room; what was there is lost unless there was room already.
    void reserve(std::size_t bytes) {
        if (bytes <= this->bytes()) return;
        start_.reset();  // the same piece may do
        start_ = {machine::take_memory(bytes), giver{bytes}};
    }
    std::byte* data() { return start_.get(); }
    const std::byte* data() const { return start_.get(); }
    std::size_t bytes() const { return start_.get_deleter().bytes; }  ///< that there is room for

private:
    static_assert(machine::spare_memory::alignment % detail::line_bytes == 0);
    struct giver {
        std::size_t bytes;
        void operator()(std::byte* start) const noexcept {
            machine::give_back_memory(start, bytes);
        }
    };
    std::unique_ptr<std::byte, giver> start_{nullptr, giver{0}};
};

}  // namespace selion::collectives
