// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "machine/workers/worker_environment.hpp"
#include "offload/pool_state.hpp"
#include "selion/expect.hpp"
#include "selion/worker_pool.hpp"

namespace selion {
namespace {

constexpr std::uint32_t most_depth = machine::workers::ring_slots;
constexpr std::uint32_t most_workers = 4096;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 47;  // a process has no more addresses

void expect_bytes(std::uint64_t bytes, const char* name) {
    if (bytes <= most_bytes) return;
    throw error(
        status::bad_argument,
        fmt::format("a worker pool with {} {}; at most {} are possible", name, bytes, most_bytes));
}

void expect_legal(const worker_pool_options& options) {
    if (options.depth > most_depth) {
        throw error(
            status::bad_argument,
            fmt::format("a worker pool with depth {}; 1 to {} calls may be under way on one "
                        "worker",
                        options.depth, most_depth));
    }
    if (options.workers && (*options.workers == 0 || *options.workers > most_workers)) {
        throw error(status::bad_argument, fmt::format("a pool of {} workers; 1 to {} are possible",
                                                      *options.workers, most_workers));
    }
    expect_bytes(options.memory_bytes, "memory_bytes");
    expect_bytes(options.shared_bytes, "shared_bytes");
    if (options.kind != worker_kind::process && !options.program.empty()) {
        throw error(status::bad_argument,
                    "a worker pool with a program of its own wants worker_kind::process");
    }
    if (options.kind == worker_kind::rank && options.shared_bytes != 0) {
        throw error(status::bad_argument,
                    "workers that are ranks see no memory of the host's: leave shared_bytes out, "
                    "and use replicate, or allocate");
    }
}

detail::pool_state& make_state(const worker_pool_options& options, selion::world* world,
                               std::source_location site) {
    expect_legal(options);
    // Workers that make pools first, whose workers do the same, would have no end.
    if (options.kind == worker_kind::process && machine::workers::worker_environment::is_there()) {
        throw error(status::bad_argument,
                    "this process is a worker, and makes a pool before it serves as one: call "
                    "selion::run or selion::serve_as_worker before a pool is made");
    }
    detail::rank_context* const context = world == nullptr ? nullptr : detail::current_context;
    const detail::pool_state::maker made{context, site};
    if (options.kind == worker_kind::rank) {
        if (world == nullptr) {
            throw error(status::bad_argument,
                        "workers that are ranks need the world that they are ranks of");
        }
        return *new detail::pool_state(offload::make_rank_group(options, *world, site), options,
                                       made);
    }
    if (world != nullptr && !world->machine().capabilities.real_time) {
        throw error(status::not_available,
                    fmt::format("workers that are {} run in real time, beside the ranks; on {} "
                                "they can be ranks: worker_kind::rank",
                                options.kind == worker_kind::thread ? "threads" : "processes",
                                world->machine().spec));
    }
    return *new detail::pool_state(offload::make_local_group(options, context), options, made);
}

/// Workers that predictions go up to: what the boards' host of the model's source had room for.
std::uint32_t curve_of(std::uint32_t workers) { return std::max(workers, 16u); }

offload_work measured(const pool_profile& profile) {
    if (profile.calls != 0) return {profile.in, profile.out, profile.compute};
    throw error(status::bad_argument,
                "the pool has measured no calls; set measures in its options, and call something");
}

}  // namespace

worker_pool::worker_pool(selion::world& world, const worker_pool_options& options,
                         std::source_location site)
    : state_(make_state(options, &world, site)) {}

worker_pool::worker_pool(const worker_pool_options& options)
    : state_(make_state(options, nullptr, {})) {}

worker_pool::~worker_pool() { (*state_).close(); }

std::uint32_t worker_pool::size() const noexcept { return (*state_).size(); }
bool worker_pool::is_host() const noexcept { return (*state_).is_host(); }
void worker_pool::serve(std::source_location site) { (*state_).serve(site); }
pool_counts worker_pool::counts() const noexcept { return (*state_).counts(); }
pool_profile worker_pool::profile() const noexcept { return (*state_).profile(); }

offload_prediction worker_pool::predict(model_time in, model_time out, model_time compute) const {
    return predict_offload({in, out, compute}, (*state_).setting(), curve_of(size()));
}

offload_prediction worker_pool::predict() const {
    return predict_offload(measured((*state_).profile()), (*state_).setting(), curve_of(size()));
}

std::string worker_pool::verdict(std::uint32_t block) const {
    return offload_verdict(measured((*state_).profile()), (*state_).setting(), curve_of(size()),
                           block);
}

std::uint32_t worker_pool::depth() const noexcept { return (*state_).depth(); }
void worker_pool::wait_all(std::source_location site) { (*state_).wait_all(site); }
void worker_pool::kill_workers() { (*state_).kill_workers(); }
void worker_pool::want_turn() { (*state_).want_turn(); }
void worker_pool::progress() { (*state_).poll(); }
std::span<std::byte> worker_pool::shared_memory() const { return (*state_).shared(); }
std::shared_ptr<void> worker_pool::shared_life() const { return (*state_).shared_life(); }
void worker_pool::expect_open() const { (*state_).expect_open(); }
void worker_pool::rest(std::source_location site) { (*state_).rest_once(site); }

/// Until a call's own cost is small beside that of its items, or an eighth is done.
bool worker_pool::wants_trial(std::span<const chunk_trial> trials, std::size_t end,
                              std::size_t total) const {
    constexpr double enough = 4;
    constexpr std::size_t least_trials = 2;
    constexpr std::size_t most_part = 8;
    if (!(*state_).measures()) {
        throw error(status::bad_argument,
                    "share_out learns the size of chunks from its calls: set measures in the "
                    "pool's options, or give it the least chunk");
    }
    if (end > total) return false;
    if (trials.size() < least_trials) return true;
    const auto cost = [](const chunk_trial& one) { return one.transfer + one.compute; };
    const bool is_clear = cost(trials.back()) > cost(trials.front()) * enough;
    return !is_clear && end <= total / most_part;
}

chunk_trial worker_pool::trial_since(const pool_profile& before, std::size_t items) const {
    const pool_profile now = profile();
    return {items, now.in + now.out - before.in - before.out, now.compute - before.compute};
}

std::uint32_t worker_pool::exchange_depth(std::uint32_t depth) noexcept {
    return (*state_).exchange_depth(depth);
}

bool serve_as_worker() { return machine::workers::serve_if_worker(); }

namespace detail {

void hold_pool(pool_state& pool) noexcept { pool.hold(); }
void drop_pool(pool_state& pool) noexcept {
    if (pool.drop()) delete &pool;
}

pending_call& begin_call(pool_state& pool, const call_options& options) {
    return pool.begin(options);
}
call_writer& writer_of(pending_call& call) { return call; }
void name_routine(pool_state& pool, pending_call& call, std::string_view name,
                  std::span<const routine_parameter> arguments, const routine_parameter& result) {
    pool.name_routine(call, name, arguments, result);
}
void name_routine(pool_state& pool, pending_call& call, const routine_entry& routine) {
    pool.name_routine(call, routine);
}
void start_call(pool_state& pool, pending_call& call) { pool.start(call); }

bool wait_call(pool_state& pool, pending_call& call, std::int64_t timeout_ns,
               std::source_location site, bool looks) {
    return pool.wait(call, {timeout_ns, looks}, site);
}

bool wait_call_shared(pool_state& pool, pending_call& call, std::int64_t timeout_ns,
                      std::source_location site, bool looks, bool heeds_others) {
    return pool.wait(call, {timeout_ns, looks, true, heeds_others}, site);
}

void check_call(pending_call& call) {
    call.is_awaited = true;
    if (call.trouble) std::rethrow_exception(call.trouble);
}

const std::uint64_t* result_words(pending_call& call) {
    if (!call.is_awaited) {
        throw error(status::bad_argument,
                    fmt::format("the result of routine \"{}\" is read before the call has been "
                                "waited for: call wait first, or get",
                                call.name));
    }
    if (call.trouble) std::rethrow_exception(call.trouble);
    return call.results.data();
}

bool is_done(pool_state& pool, pending_call& call) {
    if (!call.is_settled) pool.poll();
    return call.is_settled;
}

void limit_calls(worker_pool& pool, std::uint64_t most) { (*pool.state_).limit_calls(most); }

void cancel_call(pool_state& pool, pending_call& call) { pool.cancel(call); }
std::uint32_t worker_of(const pending_call& call) { return call.worker; }
bool has_worker(const pending_call& call) noexcept { return call.now == pending_call::phase::sent; }
void drop_call(pool_state& pool, pending_call& call) noexcept { pool.let_go(call); }

worker_range allocate_on(pool_state& pool, std::uint32_t worker, std::uint64_t bytes,
                         std::source_location site) {
    return pool.allocate(worker, bytes, site);
}
void free_on(pool_state& pool, const worker_range& range) noexcept { pool.free(range); }
void write_to(pool_state& pool, const worker_range& range, std::uint64_t offset, const void* data,
              std::uint64_t bytes, std::source_location site) {
    pool.write({range, offset, bytes}, data, site);
}
void read_from(pool_state& pool, const worker_range& range, std::uint64_t offset, void* data,
               std::uint64_t bytes, std::source_location site) {
    pool.read(data, {range, offset, bytes}, site);
}
void await_all_calls(pool_state& pool) noexcept {
    if (pool.is_open()) pool.wait_all(pool.made_at());
}
void copy_between(pool_state& pool, const worker_range& from, const worker_range& to,
                  std::uint64_t bytes, std::source_location site) {
    pool.copy(from, to, bytes, site);
}
std::vector<worker_range> replicate_on_all(pool_state& pool, const void* data, std::uint64_t bytes,
                                           std::source_location site) {
    return pool.replicate(data, bytes, site);
}
std::byte* allocate_shared(pool_state& pool, std::uint64_t bytes) {
    return pool.allocate_shared(bytes);
}
void free_shared(pool_state& pool, const void* data) { pool.free_shared(data); }

std::uint64_t array_bytes(std::uint64_t count, std::uint64_t element_bytes) {
    constexpr std::uint64_t most = std::uint64_t{1} << 56;
    if (count <= most / element_bytes) return count * element_bytes;
    throw error(
        status::bad_argument,
        fmt::format("{} elements of {} bytes are more than any memory has", count, element_bytes));
}

}  // namespace detail

}  // namespace selion
