// SPDX-License-Identifier: Apache-2.0
#include "selion/mesh_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>

#include "collectives/schedules/parts.hpp"
#include "selion/error.hpp"

namespace selion {
namespace {

using enum schedule_algorithm;
using ranks = std::vector<std::uint32_t>;

/// The source's list: "west first on the top row, then north on the second".
constexpr std::uint32_t directions = 4;

ranks from_next_up(std::uint32_t count, std::uint32_t rank) {
    ranks all(count - 1);
    for (std::uint32_t i = 0; i + 1 < count; ++i) all[i] = (rank + 1 + i) % count;
    return all;
}

ranks from_zero_up(std::uint32_t count, std::uint32_t rank) {
    ranks all(count - 1);
    for (std::uint32_t i = 0; i + 1 < count; ++i) all[i] = i < rank ? i : i + 1;
    return all;
}

/// A permutation of its own for each rank. Not by the library's shuffle: what that does with the
/// generator's numbers is its own business, and the same seed is to mean the same order everywhere.
ranks at_random(std::uint32_t count, std::uint32_t rank, std::uint32_t seed) {
    ranks all = from_zero_up(count, rank);
    std::mt19937_64 generator((std::uint64_t{seed} << 32) | rank);
    for (std::size_t left = all.size(); left > 1; --left) {
        std::swap(all[left - 1], all[generator() % left]);
    }
    return all;
}

/// Where a core lies as seen from another one.
struct offset {
    std::int32_t across;  ///< positive: east
    std::int32_t down;    ///< positive: south

    std::int32_t hops() const { return std::abs(across) + std::abs(down); }
    /// Place among those that are as far away, clockwise from the one in the west.
    std::int32_t place() const {
        const std::int32_t side = hops();
        if (down <= 0 && across < 0) return -down;
        if (down < 0) return side + across;
        if (across > 0) return 2 * side + down;
        return 3 * side - across;
    }
};

/// Nearest first; those as far away clockwise, from another direction in each row.
ranks nearest_first(mesh_shape mesh, std::uint32_t count, std::uint32_t rank) {
    const std::uint32_t row = rank / mesh.columns;
    const auto rotation = static_cast<std::int32_t>(row % directions);
    const auto key = [&](std::uint32_t other) {
        const offset way{
            static_cast<std::int32_t>(other % mesh.columns) -
                static_cast<std::int32_t>(rank % mesh.columns),
            static_cast<std::int32_t>(other / mesh.columns) - static_cast<std::int32_t>(row)};
        const std::int32_t round = 4 * way.hops();
        const std::int32_t turned = (way.place() - rotation * way.hops() + round) % round;
        return std::pair(way.hops(), turned);
    };
    ranks all = from_zero_up(count, rank);
    std::ranges::sort(all, {}, key);
    return all;
}

/// Numbers 0 .. count - 1 such that the first ones are spread evenly over all, however many one
/// takes: those below `count` in the order of their bits read backwards. @return the place of one.
std::uint32_t spread_place(std::uint32_t which, std::uint32_t count) {
    const auto bits = static_cast<unsigned>(std::bit_width(count - 1));
    std::uint32_t place = 0;
    for (std::uint32_t i = 0;; ++i) {
        std::uint32_t backwards = 0;
        for (unsigned bit = 0; bit < bits; ++bit) backwards |= (i >> bit & 1) << (bits - 1 - bit);
        if (backwards >= count) continue;
        if (place++ == which) return backwards;
    }
}

/// If every core also had a turn with itself, all would have different targets in each turn, and
/// ways would lie evenly over the links: on 4 x 4 none twice over one. Nobody spends that turn, and
/// cores have it at different times; so there are a few more, on 4 x 4 two at most.
ranks spread_evenly(mesh_shape mesh, std::uint32_t count, std::uint32_t rank) {
    const std::uint32_t row = spread_place(rank / mesh.columns, mesh.rows);
    const std::uint32_t column = spread_place(rank % mesh.columns, mesh.columns);
    ranks all;
    all.reserve(count - 1);
    for (std::uint32_t down = 0; down < mesh.rows; ++down) {
        for (std::uint32_t across = 0; across < mesh.columns; ++across) {
            const std::uint32_t target =
                (row + down) % mesh.rows * mesh.columns + (column + across) % mesh.columns;
            if (target != rank && target < count) all.push_back(target);
        }
    }
    return all;
}

/// @pre the last row of the mesh may be shorter than the others, but is not empty.
ranks order_of(schedule_algorithm order, mesh_shape mesh, std::uint32_t count, std::uint32_t rank,
               std::uint32_t seed) {
    switch (order) {
        case pass_up: return from_next_up(count, rank);
        case zero_to_n: return from_zero_up(count, rank);
        case random: return at_random(count, rank, seed);
        case mapped: return nearest_first(mesh, count, rank);
        default: return spread_evenly(mesh, count, rank);
    }
}

}  // namespace

mesh_shape mesh_of(const machine_description& machine) {
    std::uint32_t columns = machine.mesh_columns;
    for (std::uint32_t rows = 1; machine.mesh_columns == 0 && rows * rows <= machine.ranks;
         ++rows) {
        if (machine.ranks % rows == 0) columns = machine.ranks / rows;
    }
    if (columns == 0) return {};
    return {(machine.ranks + columns - 1) / columns, columns, machine.ranks};
}

bool is_mesh_order(schedule_algorithm algorithm) {
    return algorithm == pass_up || algorithm == zero_to_n || algorithm == random ||
           algorithm == mapped || algorithm == spread;
}

std::vector<std::uint32_t> mesh_order(schedule_algorithm order, mesh_shape mesh, std::uint32_t rank,
                                      std::uint32_t seed) {
    const auto refuse = [](const std::string& sentence) {
        throw error(status::bad_argument, "mesh_order: " + sentence);
    };
    if (!is_mesh_order(order)) {
        refuse(
            fmt::format("{} is no order of a mesh; legal: pass_up, zero_to_n, random, mapped, "
                        "spread",
                        name_of(order)));
    }
    const std::uint64_t room = std::uint64_t{mesh.rows} * mesh.columns;
    const std::uint64_t count = mesh.ranks != 0 ? mesh.ranks : room;
    constexpr std::uint64_t most = 1U << 20;
    if (count > room) {
        refuse(
            fmt::format("{} ranks do not fit on a mesh of {} rows and {} columns; legal: 1 to {}",
                        count, mesh.rows, mesh.columns, room));
    }
    if (count == 0 || room > most) {
        refuse(fmt::format("a mesh of {} rows and {} columns is not possible; legal: 1 to {} ranks",
                           mesh.rows, mesh.columns, most));
    }
    if (rank >= count) {
        refuse(fmt::format("rank {} is not on a mesh of {} rows and {} columns; legal: 0 to {}",
                           rank, mesh.rows, mesh.columns, count - 1));
    }
    return order_of(order, mesh, static_cast<std::uint32_t>(count), rank, seed);
}

namespace collectives {

rank_schedule make_mesh_order_schedule(const schedule_request& request, std::uint32_t rank) {
    rank_schedule own{request.ranks, {}};
    if (request.ranks == 1) return own;
    const std::uint32_t columns = std::min(request.group, request.ranks);
    const mesh_shape mesh{(request.ranks - 1) / columns + 1, columns};
    schedule_step& step = own.steps.emplace_back();
    for (const std::uint32_t to :
         order_of(request.algorithm, mesh, request.ranks, rank, request.seed)) {
        step.sends.push_back({to, {{rank, 1}}});
    }
    for (const std::uint32_t from : from_zero_up(request.ranks, rank)) {
        step.receives.push_back({from, {{from, 1}}});
    }
    return own;
}

}  // namespace collectives
}  // namespace selion
