// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <selion/offload_model.hpp>
#include <selion/time_limit.hpp>

/// What a pool of workers is to be, and what it tells of itself.
namespace selion {

/// Who the workers of a pool are.
enum class worker_kind {
    thread,   ///< of the calling process: they see the caller's memory
    process,  ///< of their own: one that dies is an error of its call, and is replaced
    rank,     ///< ranks of the world, on any machine
};

struct worker_pool_options {
    /// Number of workers, 1 to 4096. Not set: as many as there are processors beside the caller's,
    /// at least 1; of ranks: all but the host.
    std::optional<std::uint32_t> workers = {};
    worker_kind kind = worker_kind::thread;
    /// Of each worker, for arguments and `worker_array`s, at most 2^47; 0: 64 MiB, of ranks 4 MiB
    /// or what their heaps have left if that is less.
    std::uint64_t memory_bytes = 0;
    /// Memory of the host that workers see as well, for `worker_pool::shared_array`, at most 2^47;
    /// 0: none. Ranks see none.
    std::uint64_t shared_bytes = 0;
    /// Calls under way on one worker, 1 to 64; 0: 2, or 1 where a worker that computes must not be
    /// disturbed. With 1 a call's arguments travel only after the results of the one before.
    std::uint32_t depth = 0;
    /// Calls that may wait for a worker; `call` waits when there are more.
    std::uint32_t most_waiting = 1024;
    /// How long host and workers look for news before they sleep; waking a sleeper takes tens of
    /// microseconds. Not set: 200 µs where everybody has a processor. Ranks wait as their machine
    /// does.
    std::optional<time_limit> spin = {};
    /// Notes what calls and transfers take, for `profile`, `predict` and `verdict`. A call that
    /// does little takes about 100 ns more. Of ranks, the host's option counts.
    bool measures = false;
    /// Of processes: a program that calls `selion::run` or `serve_as_worker`, and its arguments.
    /// Empty: the caller's own, executed anew.
    std::vector<std::string> program = {};
};

/// What a pool has done.
struct pool_counts {
    std::uint64_t calls = 0;     ///< answered or failed
    std::uint64_t failed = 0;    ///< of these
    std::uint64_t replaced = 0;  ///< workers
};

/// What a pool's calls have taken, where it measures.
struct pool_profile {
    std::uint64_t calls = 0;
    model_time in{0};       ///< of the host, to send calls and arguments; where time is virtual,
                            ///< until they are there
    model_time out{0};      ///< of the host, to take results
    model_time compute{0};  ///< of all workers
    model_time elapsed{0};  ///< from the first call's beginning to the last one's end
};

}  // namespace selion
