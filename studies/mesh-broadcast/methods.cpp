// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments.hpp"

namespace mesh_broadcast {
namespace {

constexpr std::uint32_t most_bytes = 8192;
constexpr std::uint32_t most_ints = most_bytes / sizeof(std::int32_t);

/// @error study::bad_argument unless it is a multiple of four from 4 to `most_bytes`.
std::uint32_t read_ints(const nlohmann::ordered_json& params) {
    const std::uint32_t bytes = read_count(params, "bytes", most_bytes);
    if (bytes % sizeof(std::int32_t) == 0) return bytes / sizeof(std::int32_t);
    throw study::bad_argument("'bytes' is " + std::to_string(bytes) +
                              "; legal: multiples of 4 to " + std::to_string(most_bytes) + ".");
}

/// From the call until all is there, of which the origin's `quiet` knows.
double time_transfer(selion::world& world, std::uint32_t ints, method how) {
    const auto target = selion::allocate<std::int32_t>(world, ints);
    const std::vector<std::int32_t> values(ints, 7);
    const std::span<const std::int32_t> array(values);
    const auto there = target.on(world.size() - 1);
    selion::meter clock("transfer");
    world.barrier();
    if (world.rank() == 0) {
        const selion::meter_run timed(clock);
        if (how == method::dma) {
            selion::start_dma(selion::dma_descriptor<std::int32_t>{there, values.data(), ints});
        } else if (how == method::direct) {
            selion::put_elements(there, array);
        } else {
            selion::put(there, array);
        }
        selion::quiet();
    }
    world.barrier();
    selion::deallocate(world, target);
    return clock.value();
}

/// All ranks send to all by broadcasts of one rank after another, each a collective call.
double time_collective(selion::world& world, std::uint32_t ints, std::uint32_t iterations) {
    std::vector<std::int32_t> values(ints);
    selion::meter clock("broadcasts");
    world.barrier();
    clock.start();
    for (std::uint32_t i = 0; i < iterations; ++i) {
        for (std::uint32_t root = 0; root < world.size(); ++root) {
            world.broadcast(std::span<std::int32_t>(values), root);
        }
    }
    clock.stop();
    return selion::summarise(world, clock).mean / iterations;
}

/// As a collective, whose members tell each other what has arrived.
double time_all_gather(selion::world& world, std::uint32_t ints, std::uint32_t iterations,
                       std::optional<selion::schedule_algorithm> algorithm = {}) {
    if (algorithm) {
        const selion::schedule_request schedule{.algorithm = *algorithm,
                                                .group = selion::mesh_of(world.machine()).columns};
        world.choose(selion::collective_kind::all_gather,
                     selion::collective_choice{selion::collective_way::messages, schedule});
    }
    const std::vector<std::int32_t> own(ints, 1);
    std::vector<std::int32_t> all(std::size_t{ints} * world.size());
    selion::meter clock("all-gathers");
    world.barrier();
    clock.start();
    for (std::uint32_t i = 0; i < iterations; ++i) {
        world.all_gather(std::span<const std::int32_t>(own), std::span<std::int32_t>(all));
    }
    clock.stop();
    return selion::summarise(world, clock).mean / iterations;
}

}  // namespace

measurement read_transfer(const study::arguments& given) {
    const std::uint32_t ints = read_ints(given.params);
    const method how = read_method(given.params);
    return [ints, how](selion::world& world, const study::row_frame& frame) {
        const double ticks = time_transfer(world, ints, how);
        if (world.rank() != 0) return;
        study::print_row(frame, {"ticks", "ticks"}, study::detail::rounded(ticks));
    };
}

measurement read_methods(const study::arguments& given) {
    const broadcast what{.order = selion::schedule_algorithm::spread,
                         .ints = read_ints(given.params),
                         .iterations = 20,
                         .how = read_method(given.params),
                         .seed = given.seed};
    return [what](selion::world& world, const study::row_frame& frame) {
        broadcast now = what;
        now.seed += frame.repetition;
        const outcome seen = run(world, now);
        if (world.rank() != 0) return;
        study::print_row(frame, {"ticks", "ticks"}, study::detail::rounded(seen.ticks));
    };
}

measurement read_long_data(const study::arguments& given) {
    const std::uint32_t ints = read_count(given.params, "ints", most_ints);
    const auto name = study::parameter<std::string>(given.params, "algorithm");
    std::optional<selion::schedule_algorithm> found;
    std::string legal;
    for (const auto each : selion::algorithms_for(selion::collective_kind::all_gather)) {
        if (selion::name_of(each) == name) found = each;
        legal += (legal.empty() ? "" : ", ") + std::string(selion::name_of(each));
    }
    if (!found) {
        throw study::bad_argument("'algorithm' is '" + name + "'; legal: " + legal + ".");
    }
    const std::uint32_t side = read_count(given.params, "side", 16);
    return [ints, found, side](selion::world& world, const study::row_frame& frame) {
        if (!is_on_mesh(world, side)) return;
        const double ticks = time_all_gather(world, ints, 5, found);
        if (world.rank() != 0) return;
        study::print_row(frame, {"ticks", "ticks"}, study::detail::rounded(ticks));
    };
}

measurement read_collective(const study::arguments& given) {
    const std::uint32_t ints = read_count(given.params, "ints", most_ints);
    const auto name = study::parameter<std::string>(given.params, "method");
    const bool is_direct = name == "direct" || name == "direct_with_barrier";
    if (!is_direct && name != "broadcast_collective" && name != "all_gather") {
        throw study::bad_argument("'method' is '" + name +
                                  "'; legal: direct, direct_with_barrier, broadcast_collective, "
                                  "all_gather.");
    }
    broadcast what{.order = selion::schedule_algorithm::mapped,
                   .ints = ints,
                   .iterations = 20,
                   .has_barrier = name == "direct_with_barrier",
                   .seed = given.seed};
    return [what, name, is_direct](selion::world& world, const study::row_frame& frame) {
        double ticks = 0;
        if (is_direct) {
            ticks = run(world, what).ticks;
        } else if (name == "all_gather") {
            ticks = time_all_gather(world, what.ints, what.iterations);
        } else {
            ticks = time_collective(world, what.ints, what.iterations);
        }
        if (world.rank() != 0) return;
        study::print_row(frame, {"ticks", "ticks"}, study::detail::rounded(ticks));
    };
}

}  // namespace mesh_broadcast
