// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

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
    /// @error bad_argument: beyond its end; rank_dead: its worker has died.
    void write(std::size_t first, std::span<const T> from,
               std::source_location site = std::source_location::current()) {
        detail::write_to(pool_.at(site), range_, detail::array_bytes(first, sizeof(T)), from.data(),
                         from.size_bytes(), site);
    }
    /// Reads them, likewise.
    void read(std::size_t first, std::span<T> into,
              std::source_location site = std::source_location::current()) const {
        detail::read_from(pool_.at(site), range_, detail::array_bytes(first, sizeof(T)),
                          into.data(), into.size_bytes(), site);
    }
    /// Copies all elements to another array, of another worker or the same: over the host, or
    /// straight from worker to worker where the machine can. @error bad_argument: it is shorter.
    void copy_to(worker_array& target,
                 std::source_location site = std::source_location::current()) const {
        detail::expect_here(bool(target.pool_), site);
        detail::copy_between(pool_.at(site), range_, target.range_, range_.bytes, site);
    }
    detail::array_argument<T> as_argument(
        std::source_location site = std::source_location::current()) const noexcept {
        detail::expect_here(bool(pool_), site);
        return {range_};
    }

private:
    detail::pool_hold pool_;
    detail::worker_range range_;
};

/// The same elements in the memory of each worker: an argument for calls that any of them may get.
/// Freed with the handle, which waits for all calls. Routines only read it.
template <class T>
class worker_replica {
public:
    worker_replica(detail::pool_state& pool, std::vector<detail::worker_range> ranges)
        : pool_(pool), ranges_(std::move(ranges)) {}
    worker_replica(worker_replica&&) noexcept = default;
    worker_replica& operator=(worker_replica&& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(ranges_, other.ranges_);
        return *this;
    }
    ~worker_replica() {
        if (!pool_) return;
        detail::await_all_calls(*pool_);
        for (const detail::worker_range& each : ranges_) detail::free_on(*pool_, each);
    }

    std::size_t size(std::source_location site = std::source_location::current()) const noexcept {
        detail::expect_here(bool(pool_), site);
        return ranges_.front().bytes / sizeof(T);
    }
    detail::replica_argument<T> as_argument(
        std::source_location site = std::source_location::current()) const noexcept {
        detail::expect_here(bool(pool_), site);
        return {ranges_};
    }

private:
    detail::pool_hold pool_;
    std::vector<detail::worker_range> ranges_;
};

}  // namespace selion
