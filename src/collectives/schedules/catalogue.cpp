// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/nearest_name.hpp"
#include "collectives/schedules/parts.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/error.hpp"

namespace selion {
namespace {

using enum collective_kind;
using enum schedule_algorithm;
using maker = rank_schedule (*)(const schedule_request&, std::uint32_t);

constexpr std::array<std::string_view, 11> collective_names{
    "barrier", "broadcast", "reduce",     "all_reduce", "reduce_scatter", "scan",
    "exscan",  "gather",    "all_gather", "scatter",    "exchange"};

constexpr std::array<std::string_view, 19> algorithm_names{"flat",
                                                           "k_nomial",
                                                           "binary",
                                                           "chain",
                                                           "hierarchical",
                                                           "mesh",
                                                           "dissemination",
                                                           "recursive_doubling",
                                                           "recursive_halving",
                                                           "vector_halving",
                                                           "ring",
                                                           "scatter_ring",
                                                           "bruck",
                                                           "pairwise",
                                                           "pass_up",
                                                           "zero_to_n",
                                                           "random",
                                                           "mapped",
                                                           "spread"};

struct way {
    schedule_algorithm algorithm;
    maker make;
};

std::span<const way> ways_of_all_gather() {
    using namespace collectives;
    static constexpr way all[] = {{flat, make_tree_schedule},
                                  {k_nomial, make_tree_schedule},
                                  {binary, make_tree_schedule},
                                  {mesh, make_mesh_schedule},
                                  {recursive_doubling, make_doubling_schedule},
                                  {ring, make_ring_schedule},
                                  {bruck, make_digit_schedule},
                                  {pairwise, make_pairwise_schedule},
                                  {pass_up, make_mesh_order_schedule},
                                  {zero_to_n, make_mesh_order_schedule},
                                  {schedule_algorithm::random, make_mesh_order_schedule},
                                  {mapped, make_mesh_order_schedule},
                                  {spread, make_mesh_order_schedule}};
    return all;
}

/// Every way of every collective.
std::span<const way> ways_of(collective_kind collective) {
    using namespace collectives;
    constexpr maker tree = make_tree_schedule;
    static constexpr way of_barrier[] = {{flat, tree},
                                         {k_nomial, tree},
                                         {binary, tree},
                                         {chain, tree},
                                         {hierarchical, make_hierarchical_schedule},
                                         {mesh, make_mesh_schedule},
                                         {dissemination, make_digit_schedule}};
    static constexpr way of_broadcast[] = {{flat, tree},
                                           {k_nomial, tree},
                                           {binary, tree},
                                           {chain, tree},
                                           {hierarchical, make_hierarchical_schedule},
                                           {mesh, make_mesh_schedule},
                                           {scatter_ring, make_ring_schedule}};
    static constexpr way of_reduce[] = {{flat, tree},
                                        {k_nomial, tree},
                                        {binary, tree},
                                        {chain, tree},
                                        {hierarchical, make_hierarchical_schedule},
                                        {mesh, make_mesh_schedule}};
    static constexpr way of_all_reduce[] = {{flat, tree},
                                            {k_nomial, tree},
                                            {binary, tree},
                                            {chain, tree},
                                            {hierarchical, make_hierarchical_schedule},
                                            {mesh, make_mesh_schedule},
                                            {recursive_doubling, make_doubling_schedule},
                                            {recursive_halving, make_doubling_schedule},
                                            {vector_halving, make_doubling_schedule},
                                            {ring, make_ring_schedule},
                                            {pairwise, make_pairwise_schedule}};
    static constexpr way of_reduce_scatter[] = {{flat, tree},
                                                {k_nomial, tree},
                                                {binary, tree},
                                                {recursive_halving, make_doubling_schedule},
                                                {ring, make_ring_schedule},
                                                {pairwise, make_pairwise_schedule}};
    static constexpr way of_scan[] = {{binary, make_scan_schedule},
                                      {chain, make_scan_schedule},
                                      {recursive_doubling, make_scan_schedule}};
    static constexpr way of_gather[] = {
        {flat, tree}, {k_nomial, tree}, {binary, tree}, {chain, tree}};
    static constexpr way of_exchange[] = {{flat, make_pairwise_schedule},
                                          {bruck, make_digit_schedule},
                                          {pairwise, make_pairwise_schedule}};
    switch (collective) {
        case barrier: return of_barrier;
        case broadcast: return of_broadcast;
        case reduce: return of_reduce;
        case all_reduce: return of_all_reduce;
        case reduce_scatter: return of_reduce_scatter;
        case scan:
        case exscan: return of_scan;
        case gather:
        case scatter: return of_gather;
        case all_gather: return ways_of_all_gather();
        case exchange: break;
    }
    return of_exchange;
}

std::size_t index_in(std::span<const std::string_view> names, std::string_view name,
                     std::string_view what) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    throw error(status::bad_argument,
                fmt::format("there is no {} '{}'{}; there are {}", what, name,
                            base::did_you_mean(name, names, "'"), fmt::join(names, ", ")));
}

[[noreturn]] void refuse(const std::string& sentence) {
    throw error(status::bad_argument, "schedule: " + sentence);
}

[[noreturn]] void refuse_algorithm(std::string_view name, collective_kind collective) {
    std::vector<std::string_view> legal;
    for (const way& each : ways_of(collective)) legal.push_back(name_of(each.algorithm));
    refuse(fmt::format("{} has no algorithm {}{}; it has {}", name_of(collective), name,
                       base::did_you_mean(name, legal, "'"), fmt::join(legal, ", ")));
}

maker maker_of(const schedule_request& request) {
    const auto ways = ways_of(request.collective);
    const auto found = std::ranges::find(ways, request.algorithm, &way::algorithm);
    if (found != ways.end()) return found->make;
    refuse_algorithm(name_of(request.algorithm), request.collective);
}

void check(const schedule_request& request, std::uint32_t rank) {
    if (request.ranks == 0) refuse("there are no ranks; at least 1 is needed");
    constexpr std::uint32_t most_ranks = detail::rank_mask;  // an address has room for so many
    if (request.ranks > most_ranks) {
        refuse(fmt::format("{} ranks are too many; legal: 1 to {}", request.ranks, most_ranks));
    }
    if (rank >= request.ranks) {
        refuse(fmt::format("there is no rank {}; ranks are 0 to {}", rank, request.ranks - 1));
    }
    const bool is_rooted = has_root(request.collective);
    if (is_rooted && request.root >= request.ranks) {
        refuse(fmt::format("the root {} is no rank; ranks are 0 to {}", request.root,
                           request.ranks - 1));
    }
    if (!is_rooted && request.root != 0) {
        refuse(
            fmt::format("{} has no root; leave {} out", name_of(request.collective), request.root));
    }
    const std::uint32_t most = std::max(request.ranks, 2u);
    if (request.radix < 2 || (uses_radix(request.algorithm) && request.radix > most)) {
        refuse(fmt::format("a radix of {} is not possible; legal: 2 to {}", request.radix, most));
    }
    if (request.group == 0) refuse("a group of 0 ranks is not possible; at least 1 is needed");
    if (request.segments == 0 || request.segments > most_segments) {
        refuse(fmt::format("{} segments are not possible; legal: 1 to {}", request.segments,
                           most_segments));
    }
}

}  // namespace

std::string_view name_of(collective_kind collective) {
    return collective_names[static_cast<std::size_t>(collective)];
}

std::string_view name_of(schedule_algorithm algorithm) {
    return algorithm_names[static_cast<std::size_t>(algorithm)];
}

collective_kind collective_of(std::string_view name) {
    return static_cast<collective_kind>(index_in(collective_names, name, "collective"));
}

schedule_algorithm algorithm_of(std::string_view name) {
    return static_cast<schedule_algorithm>(index_in(algorithm_names, name, "algorithm"));
}

schedule_algorithm algorithm_of(std::string_view name, collective_kind collective) {
    for (const way& each : ways_of(collective)) {
        if (name_of(each.algorithm) == name) return each.algorithm;
    }
    refuse_algorithm(name, collective);
}

std::vector<schedule_algorithm> algorithms_for(collective_kind collective) {
    std::vector<schedule_algorithm> all;
    for (const way& each : ways_of(collective)) all.push_back(each.algorithm);
    return all;
}

bool has_root(collective_kind collective) {
    return collective == broadcast || collective == reduce || collective == gather ||
           collective == scatter;
}

bool uses_radix(schedule_algorithm algorithm) {
    return algorithm == k_nomial || algorithm == hierarchical || algorithm == dissemination ||
           algorithm == scatter_ring || algorithm == bruck;
}

bool uses_group(schedule_algorithm algorithm) {
    return algorithm == hierarchical || algorithm == mesh || algorithm == mapped ||
           algorithm == spread;
}

bool uses_seed(schedule_algorithm algorithm) { return algorithm == schedule_algorithm::random; }

bool uses_segments(collective_kind collective, schedule_algorithm algorithm) {
    const bool is_one_vector =
        collective == broadcast || collective == reduce || collective == all_reduce;
    return is_one_vector && (algorithm == flat || algorithm == k_nomial || algorithm == binary ||
                             algorithm == chain || algorithm == mesh);
}

rank_schedule make_schedule(const schedule_request& request, std::uint32_t rank) {
    check(request, rank);
    const maker make = maker_of(request);
    return make(request, rank);
}

}  // namespace selion
