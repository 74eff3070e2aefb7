// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <selion/detail/export.hpp>

/// Schedules: who sends what to whom in which step of a collective. They are data, made by pure
/// functions of a request, and say nothing of how messages travel.
namespace selion {

enum class collective_kind {
    barrier,
    broadcast,
    reduce,
    all_reduce,
    reduce_scatter,
    scan,
    exscan,
    gather,
    all_gather,
    scatter,
    exchange,
};

inline constexpr std::size_t collective_kinds = 11;

enum class schedule_algorithm {
    flat,           ///< a root and all others
    k_nomial,       ///< a tree: the digits of a rank in base `radix`
    binary,         ///< a tree: two halves below each rank; of a scan: up and down one
    chain,          ///< one rank after another
    hierarchical,   ///< trees within groups of ranks, and one over their leaders
    mesh,           ///< rows of ranks: only neighbours talk; of an all-gather: rows, then columns
    dissemination,  ///< everybody to ranks 1, 2, … radix - 1 times a power of `radix` away
    recursive_doubling,  ///< pairs, pairs of pairs, …
    recursive_halving,   ///< the same the other way: what is sent gets shorter
    vector_halving,      ///< likewise, but neighbours first, so that sums stay in order
    ring,                ///< everybody to the next, with a part of the data
    scatter_ring,        ///< scattered over a tree, and then round a ring
    bruck,               ///< few messages that carry what belongs to others
    pairwise,            ///< everybody with everybody, one after another
    // Everybody to everybody at once, in the orders of mesh_order.hpp:
    pass_up,    ///< the next higher rank first, and from the last one on with rank 0
    zero_to_n,  ///< from rank 0 up
    random,     ///< another order for each rank
    mapped,     ///< the nearest ones first, beginning in another direction in each row
    spread,     ///< ways evenly over the links at any time
};

SELION_API std::string_view name_of(collective_kind collective);
SELION_API std::string_view name_of(schedule_algorithm algorithm);
/// @error selion::error with the legal names.
SELION_API collective_kind collective_of(std::string_view name);
SELION_API schedule_algorithm algorithm_of(std::string_view name);
/// As above, of those that the collective has.
SELION_API schedule_algorithm algorithm_of(std::string_view name, collective_kind collective);

/// Those that exist for a collective.
SELION_API std::vector<schedule_algorithm> algorithms_for(collective_kind collective);
SELION_API bool has_root(collective_kind collective);
SELION_API bool uses_radix(schedule_algorithm algorithm);
SELION_API bool uses_group(schedule_algorithm algorithm);
SELION_API bool uses_seed(schedule_algorithm algorithm);
/// Whether the vector may go in segments: broadcast, reduce and all-reduce over trees.
SELION_API bool uses_segments(collective_kind collective, schedule_algorithm algorithm);

inline constexpr std::uint32_t most_segments = 4096;

/// What a schedule is a function of.
struct schedule_request {
    collective_kind collective = collective_kind::barrier;
    schedule_algorithm algorithm = schedule_algorithm::flat;
    std::uint32_t ranks = 1;
    std::uint32_t root = 0;   ///< of broadcast, reduce, gather, scatter
    std::uint32_t radix = 2;  ///< 2 .. max(2, ranks); see `uses_radix`
    std::uint32_t group = 2;  ///< ranks of a group, all neighbours: hierarchical; of a row: `mesh`,
                              ///< `mapped`, `spread`
    /// Parts that the vector goes in, one after another, so that a rank passes one on while the
    /// next comes: 1 .. `most_segments`; see `uses_segments`.
    std::uint32_t segments = 1;
    std::uint32_t seed = 1;  ///< of `random`
    bool operator==(const schedule_request&) const = default;
};

/// Blocks `first`, `first` + 1, …; the last block of all is followed by block 0.
///
/// A broadcast, reduction or scan cuts its vector into as many blocks as the schedule says. In
/// gather, all-gather, scatter and reduce-scatter block r is rank r's. In an exchange of n ranks
/// block s · n + t goes from rank s to rank t.
struct block_range {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    bool operator==(const block_range&) const = default;
};

/// What happens to blocks where they arrive.
enum class block_action {
    store,
    combine_after,   ///< own value, then what has come
    combine_before,  ///< what has come, then the own value
};

/// One message, as one of its two ends sees it.
struct schedule_message {
    std::uint32_t peer = 0;
    std::vector<block_range> blocks = {};  ///< none: it says only that it has been sent
    block_action action = block_action::store;
};

/// Messages that may be under way together. Blocks are sent as they were when the step began; those
/// that arrive are stored or combined in the order of `receives`, when all have arrived.
struct schedule_step {
    std::vector<schedule_message> sends = {};
    std::vector<schedule_message> receives = {};
};

/// What one rank does.
struct rank_schedule {
    std::uint64_t blocks = 0;  ///< of the whole collective
    std::vector<schedule_step> steps = {};
};

/// @param rank 0 .. ranks - 1.
/// @error selion::error when the request is not legal, with what is.
/// @cost time and memory of the rank's own part.
SELION_API rank_schedule make_schedule(const schedule_request& request, std::uint32_t rank);

/// A message of a run in rounds.
struct played_message {
    std::uint32_t round = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::vector<block_range> blocks = {};
    block_action action = block_action::store;
};

/// How a schedule went.
struct played_schedule {
    std::uint64_t blocks = 0;
    std::uint32_t rounds = 0;
    std::vector<played_message> messages = {};
    bool keeps_order = true;  ///< operations that do not commute may be used
};

/// Runs all ranks' schedules symbolically, without any buffer: a message goes in a round in which
/// its receiver waits for it; in each round a rank sends at most one, in the order of its `sends`,
/// and receives at most one. Proves on the way that both ends of each message agree, that every
/// value gets where it belongs exactly once, and that no rank waits for ever.
/// @error selion::error when any of that does not hold, with where and why.
SELION_API played_schedule play_schedule(const schedule_request& request);
/// The same for schedules of other origin: `own[r]` is rank r's.
SELION_API played_schedule play_schedule(const schedule_request& request,
                                         const std::vector<rank_schedule>& own);

}  // namespace selion
