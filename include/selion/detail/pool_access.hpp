// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <selion/detail/call_arguments.hpp>
#include <selion/detail/export.hpp>
#include <selion/expect.hpp>
#include <selion/routine.hpp>

/// How pools, calls and arrays reach the state that they share. A `site` is the place in the
/// program that reports of hangs name where a rank waits there.
namespace selion {

struct call_options;
class worker_pool;

namespace detail {

class pool_state;
struct pending_call;

SELION_API void hold_pool(pool_state& pool) noexcept;
SELION_API void drop_pool(pool_state& pool) noexcept;

SELION_API pending_call& begin_call(pool_state& pool, const call_options& options);
SELION_API call_writer& writer_of(pending_call& call);
/// @error bad_argument: no routine of that name, or with other parameters.
SELION_API void name_routine(pool_state& pool, pending_call& call, std::string_view name,
                             std::span<const routine_parameter> arguments,
                             const routine_parameter& result);
SELION_API void name_routine(pool_state& pool, pending_call& call, const routine_entry& routine);
SELION_API void start_call(pool_state& pool, pending_call& call);

/// @param looks stays awake for some time before it sleeps.
SELION_API bool wait_call(pool_state& pool, pending_call& call, std::int64_t timeout_ns,
                          std::source_location site, bool looks = true);
/// The same where threads take turns at the pool: back as well when one of them wants its turn.
/// @param heeds_others and when another call is done.
SELION_API bool wait_call_shared(pool_state& pool, pending_call& call, std::int64_t timeout_ns,
                                 std::source_location site, bool looks, bool heeds_others);
SELION_API void check_call(pending_call& call);
SELION_API const std::uint64_t* result_words(pending_call& call);
SELION_API bool is_done(pool_state& pool, pending_call& call);
SELION_API void cancel_call(pool_state& pool, pending_call& call);
SELION_API std::uint32_t worker_of(const pending_call& call);
/// Whether a worker has it, and has not answered.
SELION_API bool has_worker(const pending_call& call) noexcept;
SELION_API void drop_call(pool_state& pool, pending_call& call) noexcept;
/// From now on worker processes are replaced by fresh ones after so many calls, of those that name
/// no worker; 0: none is. One goes when nobody has handles of its calls that are done: who waits
/// for a call must have let go of all others that are. @pre no arrays lie on the workers.
/// @error not_available: workers that are threads or ranks; bad_argument: a pool that has ended, or
/// that another rank or process has made.
SELION_API void limit_calls(worker_pool& pool, std::uint64_t most);

SELION_API worker_range allocate_on(pool_state& pool, std::uint32_t worker, std::uint64_t bytes,
                                    std::source_location site);
SELION_API void free_on(pool_state& pool, const worker_range& range) noexcept;
SELION_API void write_to(pool_state& pool, const worker_range& range, std::uint64_t offset,
                         const void* data, std::uint64_t bytes, std::source_location site);
SELION_API void read_from(pool_state& pool, const worker_range& range, std::uint64_t offset,
                          void* data, std::uint64_t bytes, std::source_location site);
SELION_API void await_all_calls(pool_state& pool) noexcept;
SELION_API void copy_between(pool_state& pool, const worker_range& from, const worker_range& to,
                             std::uint64_t bytes, std::source_location site);
SELION_API std::vector<worker_range> replicate_on_all(pool_state& pool, const void* data,
                                                      std::uint64_t bytes,
                                                      std::source_location site);
SELION_API std::byte* allocate_shared(pool_state& pool, std::uint64_t bytes);
SELION_API void free_shared(pool_state& pool, const void* data);
/// Length of so many elements. @error bad_argument: more than there are addresses.
SELION_API std::uint64_t array_bytes(std::uint64_t count, std::uint64_t element_bytes);

/// @param is_here whether a handle still has what it is a handle of.
inline void expect_here(bool is_here, std::source_location site) noexcept {
    SELION_EXPECT_AT(is_here, site, "the handle has been moved away; use the one that it went to");
}

/// Keeps the state of a pool while somebody may ask for it.
class pool_hold {
public:
    explicit pool_hold(pool_state& pool) noexcept : pool_(&pool) { hold_pool(pool); }
    pool_hold(pool_hold&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
    pool_hold& operator=(pool_hold&& other) noexcept {
        std::swap(pool_, other.pool_);
        return *this;
    }
    ~pool_hold() {
        if (pool_ != nullptr) drop_pool(*pool_);
    }
    pool_state& operator*() const noexcept { return *pool_; }
    /// The same, for handles that may have been moved away.
    pool_state& at(std::source_location site) const noexcept {
        expect_here(pool_ != nullptr, site);
        return *pool_;
    }
    explicit operator bool() const noexcept { return pool_ != nullptr; }

private:
    pool_state* pool_;
};

/// A call and its pool.
class call_hold {
public:
    call_hold(pool_state& pool, pending_call& call) noexcept : pool_(pool), call_(&call) {}
    call_hold(call_hold&& other) noexcept
        : pool_(std::move(other.pool_)), call_(std::exchange(other.call_, nullptr)) {}
    call_hold& operator=(call_hold&& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(call_, other.call_);
        return *this;
    }
    ~call_hold() {
        if (call_ != nullptr) drop_call(*pool_, *call_);
    }
    /// @param site of the program, for a handle that has been moved away: that ends the job.
    pool_state& pool(std::source_location site = std::source_location::current()) const noexcept {
        expect_here(call_ != nullptr, site);
        return *pool_;
    }
    pending_call& call(std::source_location site = std::source_location::current()) const noexcept {
        expect_here(call_ != nullptr, site);
        return *call_;
    }

private:
    pool_hold pool_;
    pending_call* call_;
};

}  // namespace detail

}  // namespace selion
