// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <selion/detail/call_arguments.hpp>
#include <selion/detail/pool_access.hpp>

/// Memory that stays on workers.
namespace selion {

/// Elements in the memory of one worker, which stay there from call to call. As an argument it goes
/// to routines that take a span, without travelling. Freed with the handle, which waits for the
/// worker's calls.
template <class T>
class worker_array {
public:
    worker_array(detail::pool_state& pool, const detail::worker_range& range)
        : pool_(pool), range_(range) {}
    worker_array(worker_array&&) noexcept = default;
    worker_array& operator=(worker_array&& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(range_, other.range_);
        return *this;
    }
    ~worker_array() {
        if (pool_) detail::free_on(*pool_, range_);
    }

    std::uint32_t worker() const noexcept { return range_.worker; }
    std::size_t size() const noexcept { return range_.bytes / sizeof(T); }

    /// Writes elements from index `first` on. Waits for the worker's calls.
    /// @error bad_argument: beyond its end, or the worker has been replaced.
    void write(std::size_t first, std::span<const T> from) {
        detail::write_to(*pool_, range_, first * sizeof(T), from.data(), from.size_bytes());
    }
    /// Reads them, likewise.
    void read(std::size_t first, std::span<T> into) const {
        detail::read_from(*pool_, range_, first * sizeof(T), into.data(), into.size_bytes());
    }
    detail::array_argument<T> as_argument() const noexcept { return {range_}; }

private:
    detail::pool_hold pool_;
    detail::worker_range range_;
};

}  // namespace selion
