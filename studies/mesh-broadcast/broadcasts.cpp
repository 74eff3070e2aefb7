// SPDX-License-Identifier: Apache-2.0
#include "broadcasts.hpp"

#include <cstdio>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

namespace mesh_broadcast {
namespace {

using selion::schedule_algorithm;

std::int32_t value_of(std::uint32_t rank, std::uint32_t place) {
    return static_cast<std::int32_t>(rank * 65537 + place * 31 + 1);
}

/// A meter of an event that only some machines count.
std::optional<selion::meter> meter_of_mesh(const char* name, const char* event) {
    if (!has_routers()) return {};
    return std::optional<selion::meter>(std::in_place, name, event);
}

double mean_of(const selion::world& world, const std::optional<selion::meter>& own,
               std::uint32_t iterations) {
    if (!own) return 0;
    return selion::summarise(world, *own).mean / iterations;
}

/// Meters of what goes from router to router: all that is routed, and what has just entered.
struct hop_meters {
    std::optional<selion::meter> accesses = meter_of_mesh("accesses", "mesh_access");
    std::optional<selion::meter> sent = meter_of_mesh("accesses of the core", "mesh_access:core");

    void start() {
        if (accesses) accesses->start();
        if (sent) sent->start();
    }
    void stop() {
        if (accesses) accesses->stop();
        if (sent) sent->stop();
    }
    double mean(const selion::world& world, std::uint32_t iterations) const {
        return mean_of(world, accesses, iterations) - mean_of(world, sent, iterations);
    }
};

/// Hops of a barrier's own messages, in the mean over all cores.
double hops_of_barrier(selion::world& world, const broadcast& what) {
    hop_meters hops;
    world.barrier();
    let_arrive(what);
    hops.start();
    let_arrive(what);  // nobody sends before all meters run
    for (std::uint32_t i = 0; i < what.iterations; ++i) world.barrier();
    let_arrive(what);
    hops.stop();
    let_arrive(what);  // nobody's barrier begins before all meters have stopped
    world.barrier();
    return hops.mean(world, what.iterations);
}

}  // namespace

sender::sender(selion::world& world, const broadcast& what)
    : world_(world),
      what_(what),
      landing_(selion::allocate<std::int32_t>(world, std::size_t{what.ints} * world.size())),
      order_(selion::mesh_order(what.order, selion::mesh_of(world.machine()), world.rank(),
                                static_cast<std::uint32_t>(what.seed))) {
    for (std::uint32_t i = 0; i < what.ints; ++i) own_.push_back(value_of(world.rank(), i));
}

void sender::send_to_all() {
    if (what_.how == method::dma) return send_chain();
    const std::span<const std::int32_t> array(own_);
    std::uint32_t charged = 0;
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
        if (!what_.has_equal_costs) {
            const std::uint32_t all = cycles_of_order(what_, i + 1);
            selion::charge(selion::int_ops(all - charged));
            charged = all;
        }
        const auto place = landing_.on(order_[i]) + std::size_t{world_.rank()} * what_.ints;
        if (what_.how == method::direct) {
            selion::put_elements(place, array);
        } else {
            selion::put(place, array);
        }
    }
}

void sender::send_chain() {
    std::vector<selion::dma_descriptor<std::int32_t>> chain;
    for (const std::uint32_t to : order_) {
        chain.push_back(
            {landing_.on(to) + std::size_t{world_.rank()} * what_.ints, own_.data(), own_.size()});
    }
    selion::counter done;
    selion::start_dma(std::span<const selion::dma_descriptor<std::int32_t>>(chain),
                      {.completion = &done});
    done.wait(chain.size());
}

void sender::check_and_release() {
    for (std::uint32_t from = 0; from < world_.size(); ++from) {
        for (std::uint32_t i = 0; from != world_.rank() && i < what_.ints; ++i) {
            const std::int32_t got = landing_.local()[std::size_t{from} * what_.ints + i];
            if (got == value_of(from, i)) continue;
            throw std::runtime_error("integer " + std::to_string(i) + " of rank " +
                                     std::to_string(from) + " is " + std::to_string(got) +
                                     ", not " + std::to_string(value_of(from, i)));
        }
    }
    selion::deallocate(world_, landing_);
}

std::uint32_t cycles_of_order(const broadcast& what, std::uint32_t destinations) {
    switch (what.order) {
        // Fitted on the 25 % by which mapped is quicker at one integer.
        case schedule_algorithm::pass_up: return what.pass_up_thirds * destinations / 3;
        // Assumed: compares with its own number and branches.
        case schedule_algorithm::zero_to_n: return 2 * destinations;
        default: return 0;  // reads the next address from a list: part of the copy loop's entry
    }
}

bool has_routers() {
    for (const selion::meter_event_info& each : selion::meter_events()) {
        if (each.name == "mesh_wait") return each.is_available;
    }
    return false;
}

bool has_rank_on_each_core(const selion::world& world) {
    const selion::mesh_shape mesh = selion::mesh_of(world.machine());
    if (std::uint64_t{mesh.rows} * mesh.columns == world.size()) return true;
    if (world.rank() == 0) {
        std::puts(
            R"({"skipped":"some routers have no rank, and nobody's meter counts what they do"})");
    }
    return false;
}

bool is_on_mesh(const selion::world& world, std::uint32_t side) {
    const selion::mesh_shape mesh = selion::mesh_of(world.machine());
    const bool has_shape = side == 0 || (mesh.rows == side && mesh.columns == side);
    if (world.machine().mesh_columns != 0 && has_shape) return true;
    if (world.rank() == 0) std::puts(R"({"skipped":"the machine has no such mesh"})");
    return false;
}

void let_arrive(const broadcast& what) {
    constexpr std::uint64_t longer_than_any_queue = 4096;
    selion::charge(selion::int_ops(longer_than_any_queue * (what.ints + 1)));
}

outcome run(selion::world& world, const broadcast& what) {
    sender own(world, what);
    selion::meter clock("all-to-all broadcast");
    auto core_waits = meter_of_mesh("waits of the core", "mesh_wait:core");
    auto waits = meter_of_mesh("waits of the router", "mesh_wait");
    hop_meters hops;
    std::mt19937_64 random(what.seed * 1'000'003 + world.rank());
    world.barrier();
    let_arrive(what);
    if (core_waits) core_waits->start();
    if (waits) waits->start();
    hops.start();
    let_arrive(what);  // nobody sends before all meters run
    if (what.start_skew != 0) selion::charge(selion::int_ops(random() % what.start_skew));
    clock.start();
    for (std::uint32_t i = 0; i < what.iterations; ++i) {
        if (what.has_barrier) world.barrier();
        own.send_to_all();
    }
    clock.stop();
    if (core_waits) core_waits->stop();
    if (waits) waits->stop();
    let_arrive(what);
    hops.stop();
    let_arrive(what);  // nobody's barrier begins before all meters have stopped
    world.barrier();
    own.check_and_release();
    const double cores = world.size();
    const double of_barrier = what.has_barrier ? hops_of_barrier(world, what) : 0;
    return {.ticks = selion::summarise(world, clock).mean / what.iterations,
            .wait_ticks = mean_of(world, core_waits, what.iterations),
            .router_wait_ticks = mean_of(world, waits, what.iterations),
            .messages = cores * (cores - 1),
            .hops = (hops.mean(world, what.iterations) - of_barrier) * cores};
}

schedule_algorithm read_order(const nlohmann::ordered_json& params) {
    const auto name = study::parameter<std::string>(params, "order");
    for (const auto order : selion::algorithms_for(selion::collective_kind::all_gather)) {
        if (selion::is_mesh_order(order) && selion::name_of(order) == name) return order;
    }
    throw study::bad_argument("'order' is '" + name +
                              "'; legal: pass_up, zero_to_n, random, mapped, spread.");
}

method read_method(const nlohmann::ordered_json& params) {
    const auto name = study::parameter<std::string>(params, "method");
    if (name == "direct") return method::direct;
    if (name == "bulk") return method::bulk;
    if (name == "dma") return method::dma;
    throw study::bad_argument("'method' is '" + name + "'; legal: direct, bulk, dma.");
}

std::uint32_t read_count(const nlohmann::ordered_json& params, const char* key,
                         std::uint32_t most) {
    const auto count = study::parameter<std::uint64_t>(params, key);
    if (count >= 1 && count <= most) return static_cast<std::uint32_t>(count);
    throw study::bad_argument(std::string("'") + key + "' is " + std::to_string(count) +
                              "; legal: 1 to " + std::to_string(most) + ".");
}

}  // namespace mesh_broadcast
