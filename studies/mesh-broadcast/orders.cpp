// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "experiments.hpp"
#include "links.hpp"

namespace mesh_broadcast {
namespace {

constexpr std::uint32_t most_ordered_ints = 32;
constexpr std::uint32_t most_side = 32;

/// So many that the time of a run does not grow with the mesh.
std::uint32_t iterations_on(const selion::world& world, std::uint32_t usual) {
    constexpr std::uint64_t usual_pairs = 16 * 16;
    const std::uint64_t pairs = std::uint64_t{world.size()} * world.size();
    const std::uint64_t fewer = usual * usual_pairs / std::max(pairs, usual_pairs);
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(fewer, 1));
}

broadcast read_broadcast(const study::arguments& given) {
    return {.order = read_order(given.params),
            .ints = read_count(given.params, "ints", most_ordered_ints),
            .seed = given.seed};
}

/// Repetitions differ in when the cores begin.
broadcast in_repetition(broadcast what, std::uint32_t repetition) {
    what.seed += repetition;
    return what;
}

double percent(double part, double whole) { return 100 * part / whole; }

/// What the metered routers have seen.
enum class metered { none, cores, all };

void print_outcome(const study::row_frame& frame, const outcome& seen, metered what) {
    study::print_row(frame, {"ticks", "ticks"}, study::detail::rounded(seen.ticks));
    study::print_row(frame, {"messages", "messages"}, seen.messages);
    if (what == metered::none) return;
    study::print_row(frame, {"wait_ticks", "ticks"}, study::detail::rounded(seen.wait_ticks));
    study::print_row(frame, {"wait_percent", "%"},
                     study::detail::rounded(percent(seen.wait_ticks, seen.ticks)));
    if (what == metered::cores) return;
    study::print_row(frame, {"router_wait_ticks", "ticks"},
                     study::detail::rounded(seen.router_wait_ticks));
    study::print_row(frame, {"hops", "hops"}, study::detail::rounded(seen.hops));
}

}  // namespace

measurement read_orders(const study::arguments& given, bool has_equal_costs) {
    broadcast what = read_broadcast(given);
    what.has_equal_costs = has_equal_costs;
    if (!has_equal_costs) what.has_barrier = study::parameter<bool>(given.params, "barrier");
    const std::uint32_t side =
        given.params.contains("side") ? read_count(given.params, "side", most_side) : 0;
    return [what, side](selion::world& world, const study::row_frame& frame) {
        if (side != 0 && !is_on_mesh(world, side)) return;
        broadcast now = in_repetition(what, frame.repetition);
        now.iterations = iterations_on(world, now.iterations);
        const outcome seen = run(world, now);
        const bool has_mesh = has_routers();
        const bool is_last = now.ints == most_ordered_ints && !now.has_equal_costs && has_mesh;
        broadcast shortest = now;
        shortest.ints = 1;
        const double least_wait = is_last ? run(world, shortest).wait_ticks : 0;
        if (world.rank() != 0) return;
        const bool has_all = has_mesh && has_rank_on_each_core(world);
        print_outcome(frame, seen,
                      has_all    ? metered::all
                      : has_mesh ? metered::cores
                                 : metered::none);
        if (!is_last) return;
        study::row_frame of_all = frame;
        of_all.params.erase("ints");
        const double increase = percent(seen.wait_ticks - least_wait, seen.ticks);
        study::print_row(of_all, {"wait_increase_percent", "%"}, study::detail::rounded(increase));
    };
}

measurement read_gain(const study::arguments& given) {
    broadcast usual{.ints = read_count(given.params, "ints", most_ordered_ints),
                    .seed = given.seed};
    if (given.params.contains("remainder")) {
        // The same 25 % at one integer, whatever the rest of the copy loop takes.
        constexpr std::uint32_t loop_entry = 8;
        constexpr std::uint32_t most_cycles = 32;
        usual.pass_up_thirds = loop_entry + read_count(given.params, "remainder", most_cycles);
    }
    return [usual](selion::world& world, const study::row_frame& frame) {
        broadcast what = in_repetition(usual, frame.repetition);
        const double base = run(world, what).ticks;
        what.order = selion::schedule_algorithm::mapped;
        const double better = run(world, what).ticks;
        if (world.rank() != 0) return;
        study::print_row(frame, {"gain_percent", "%"},
                         study::detail::rounded(percent(base - better, base)));
    };
}

measurement read_unrolling(const study::arguments& given) {
    const broadcast what = read_broadcast(given);
    return [what](selion::world& world, const study::row_frame& frame) {
        const outcome seen = run(world, in_repetition(what, frame.repetition));
        if (world.rank() != 0) return;
        study::print_row(frame, {"ticks", "ticks"}, study::detail::rounded(seen.ticks));
    };
}

measurement read_links(const study::arguments& given) {
    const broadcast what = read_broadcast(given);
    return [what](selion::world& world, const study::row_frame& frame) {
        if (!has_routers()) {
            if (world.rank() == 0) std::puts(R"({"skipped":"no routers are metered here"})");
            return;
        }
        if (!has_rank_on_each_core(world)) return;
        print_links(world, frame, in_repetition(what, frame.repetition));
    };
}

}  // namespace mesh_broadcast
