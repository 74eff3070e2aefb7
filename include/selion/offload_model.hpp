// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <selion/detail/export.hpp>

/// How long work takes that one host shares out among workers: the host moves all arguments and
/// results, one transfer after another, as over a bus. The formulas are those of "Parallel
/// Computing on MultiSpert" (ICSI TR-97-046, section 4.4), completed where it leaves a case out.
namespace selion {

using model_time = std::chrono::duration<double>;

/// One round of work, all workers together.
struct offload_work {
    model_time in{0};              ///< that the host needs to send all arguments
    model_time out{0};             ///< and to fetch all results
    model_time compute{0};         ///< that one worker would need for all of it
    bool is_same_for_all = false;  ///< every worker gets all arguments and returns all results, so
                                   ///< that the host needs `in` and `out` for each of them
};

/// How rounds follow each other.
enum class call_pattern {
    plain,       ///< the host waits for all workers, then begins the next round
    pipelined,   ///< a worker gets its next call as soon as its results are there
    overlapped,  ///< its next arguments travel while it computes
};

/// Who carries a round out.
struct offload_setting {
    std::uint32_t workers = 1;
    call_pattern pattern = call_pattern::plain;
    bool sends_once = false;  ///< arguments that are the same for all travel once
};

/// Time of one round; of pipelined and overlapped ones on average, when many follow each other.
/// - plain: the largest of in + out; in/P + compute/P + out; in + compute/P + out/P;
/// - pipelined: the larger of (in + compute + out)/P and in + out;
/// - overlapped: the larger of compute/P and in + out;
/// where in and out count P times if the same goes to, or comes from, all P workers.
/// @error bad_argument: no workers, or a time that is negative or infinite.
SELION_API model_time round_time(const offload_work& work, const offload_setting& setting);

/// What to expect of some number of workers.
struct offload_prediction {
    model_time total{0};             ///< of one round
    double speedup = 1;              ///< over one worker that gets all of it, plain
    double transfer_share = 0;       ///< of the total: how much of it the host moves data
    bool is_saturated = false;       ///< it does all the time: more workers do not help
    std::uint32_t saturates_at = 0;  ///< fewest workers for which that is so; 0: none of `speedups`
    std::uint32_t best_workers = 1;  ///< fewest that come within 1 % of the best of `speedups`
    std::vector<double> speedups;    ///< of 1, 2, 3, … workers
};

/// @param most_workers the curve goes so far, up to 2^20. @error bad_argument, as above.
SELION_API offload_prediction predict_offload(const offload_work& work,
                                              const offload_setting& setting,
                                              std::uint32_t most_workers);

/// The same in words, for people. @param block side of the square blocks that the work is done in,
/// whose work grows with its cube and whose data grow with its square: then blocks are proposed
/// that would keep all workers busy. 0: the work has no blocks.
SELION_API std::string offload_verdict(const offload_work& work, const offload_setting& setting,
                                       std::uint32_t most_workers, std::uint32_t block = 0);

/// What a call has cost that worked on some items.
struct chunk_trial {
    std::size_t items = 1;
    model_time transfer{0};  ///< of the host: to send it and to take its results
    model_time compute{0};   ///< of its worker
};

/// What a call costs for itself, and for each item.
struct chunk_cost {
    chunk_trial call{.items = 0};
    chunk_trial item{.items = 1};
};

/// The line through the first trial and the last one; no part of it below zero.
/// @param trials by growing numbers of items. @error bad_argument: there are none.
SELION_API chunk_cost fit_chunk_cost(std::span<const chunk_trial> trials);

/// How to share items out among workers.
struct chunk_plan {
    std::size_t items = 1;    ///< of a call
    std::uint32_t depth = 1;  ///< calls under way on one worker
    model_time total{0};      ///< that all calls are expected to take
};

/// The plan that ends first, by `round_time`: calls of a depth of 1 are pipelined, of 2 overlapped.
/// Of chunks and depths that come within 2 % of it the smallest are taken: small chunks let quick
/// workers do more.
/// @param most_depth of the pool; 2 is enough to overlap. @error bad_argument: no workers.
SELION_API chunk_plan plan_chunks(const chunk_cost& cost, std::size_t items, std::uint32_t workers,
                                  std::uint32_t most_depth);

}  // namespace selion
