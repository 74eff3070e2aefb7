// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace selion::machine {

/// Elements that are all zero at first, of which those alone take memory that somebody touches, by
/// pages.
template <class Element>
class untouched_array {
    static_assert(std::is_trivially_copyable_v<Element> &&
                  std::is_trivially_destructible_v<Element>);

public:
    untouched_array() = default;
    /// Throws `std::bad_alloc` when there are no addresses for them.
    explicit untouched_array(std::size_t count) : bytes_(count * sizeof(Element)) {
        if (bytes_ == 0) return;
        start_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start_ == MAP_FAILED) throw std::bad_alloc();
        madvise(start_, bytes_, MADV_NOHUGEPAGE);  // one would be touched as a whole
    }
    ~untouched_array() {
        if (bytes_ != 0) munmap(start_, bytes_);
    }
    untouched_array(const untouched_array&) = delete;
    untouched_array& operator=(untouched_array&& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    Element& operator[](std::size_t index) { return static_cast<Element*>(start_)[index]; }

private:
    void* start_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace selion::machine
