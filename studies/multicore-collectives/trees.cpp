// SPDX-License-Identifier: Apache-2.0
#include "trees.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace multicore {
namespace {

constexpr std::array<std::uint32_t, 12> radices_to_try{2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48};

/// How a broadcast is timed; others are timed back to back.
enum class timing {
    source,    ///< with a barrier after it, less what barriers alone take
    rotating,  ///< back to back, each from another root
};

timing read_timing(const nlohmann::ordered_json& params) {
    const auto name = study::parameter<std::string>(params, "timing");
    if (name == "source") return timing::source;
    if (name == "rotating") return timing::rotating;
    throw study::bad_argument("'timing' is '" + name + "'; legal: source, rotating.");
}

std::uint32_t read_tree(const nlohmann::ordered_json& params) {
    const auto topology = study::parameter<std::string>(params, "topology");
    const auto radix = study::parameter<std::uint64_t>(params, "radix");
    if (topology == "flat" && radix == 0) return flat;
    if (topology == "k_nomial" && radix >= 2 && radix <= 4096) {
        return static_cast<std::uint32_t>(radix);
    }
    throw study::bad_argument("'topology' is '" + topology + "' and 'radix' is " +
                              std::to_string(radix) +
                              "; legal: flat with 0, k_nomial with 2 to 4096.");
}

std::vector<double> time_call(const selion::world& world, const team_call& call, timing how) {
    const bool is_broadcast = call.what().what == selion::collective_kind::broadcast;
    if (is_broadcast && how == timing::source) {
        const auto meet = [&](std::uint32_t) { world.barrier(); };
        const auto call_and_meet = [&](std::uint32_t) {
            call.run(0);
            world.barrier();
        };
        return time_difference(world, call_and_meet, meet);
    }
    return time_calls(world, [&](std::uint32_t turn) { call.run(turn % world.size()); });
}

struct named_choice {
    std::string name;
    std::optional<selion::collective_choice> choice;
};

std::string tree_name(selion::collective_kind what) {
    return what == selion::collective_kind::exchange ? "bruck of radix " : "k_nomial of radix ";
}

/// Ways that are no trees.
std::vector<named_choice> others_to_try(selion::collective_kind what, std::uint32_t ranks) {
    using selion::collective_choice;
    using selion::collective_kind;
    using selion::collective_way;
    using selion::schedule_algorithm;
    std::vector<named_choice> all{{"the runtime's own", {}}};
    for (const std::uint32_t radix : radices_to_try) {
        if (what != collective_kind::barrier || radix > ranks) break;
        all.push_back(
            {"dissemination of radix " + std::to_string(radix),
             collective_choice{collective_way::lines,
                               {.algorithm = schedule_algorithm::dissemination, .radix = radix}}});
    }
    if (what != collective_kind::all_reduce) return all;
    for (const auto algorithm : {schedule_algorithm::recursive_doubling,
                                 schedule_algorithm::recursive_halving, schedule_algorithm::ring}) {
        all.push_back({std::string(selion::name_of(algorithm)),
                       collective_choice{collective_way::lines, {.algorithm = algorithm}}});
    }
    return all;
}

std::uint32_t parent_of(const selion::schedule_request& request, std::uint32_t rank) {
    const selion::rank_schedule own = selion::make_schedule(request, rank);
    for (const selion::schedule_step& step : own.steps) {
        if (!step.receives.empty()) return step.receives.front().peer;
    }
    return rank;
}

}  // namespace

bool shares_one_memory(const selion::world& world) {
    if (world.split(selion::locality::node).size() == world.size() &&
        (world.machine().capabilities.real_time ||
         world.split(selion::locality::process).size() == world.size())) {
        return true;
    }
    print_skip(world,
               "it is about ranks of one memory, and " + world.machine().spec + " has several");
    return false;
}

void print_tree_shape(const nlohmann::ordered_json& params, std::uint32_t repetition) {
    const auto ranks = study::parameter<std::uint64_t>(params, "ranks");
    const auto radix = study::parameter<std::uint64_t>(params, "radix");
    constexpr std::uint64_t most_ranks = 4096;
    if (ranks < 2 || ranks > most_ranks || radix < 2 || radix > most_ranks) {
        throw study::bad_argument("'ranks' is " + std::to_string(ranks) + " and 'radix' is " +
                                  std::to_string(radix) + "; legal: 2 to 4096.");
    }
    const selion::schedule_request request{
        .collective = selion::collective_kind::broadcast,
        .algorithm = selion::schedule_algorithm::k_nomial,
        .ranks = static_cast<std::uint32_t>(ranks),
        .radix = static_cast<std::uint32_t>(std::min(radix, ranks))};
    std::vector<std::int64_t> parents{-1};
    std::vector<std::uint32_t> depths{0};
    for (std::uint32_t rank = 1; rank < request.ranks; ++rank) {
        const std::uint32_t parent = parent_of(request, rank);
        parents.push_back(parent);
        depths.push_back(depths[parent] + 1);  // parents have lower numbers
    }
    const study::row_frame frame{params, request.ranks, repetition};
    study::print_row(frame, {"parent_of", "rank"}, parents);
    study::print_row(frame, {"depth", "1"}, *std::ranges::max_element(depths));
}

measurement read_radix(const nlohmann::ordered_json& params) {
    const subject what = read_subject(params);
    const std::uint32_t radix = read_tree(params);
    const timing how = read_timing(params);
    return [=](selion::world& world, const study::row_frame& frame) {
        if (!shares_one_memory(world)) return;
        team_call call(world, world.split(0u), what);
        call.choose(radix);
        print_figure(world, frame, {"latency_us", "us"}, time_call(world, call, how));
    };
}

best_tree search_radix(std::uint32_t ranks, const std::function<double(std::uint32_t)>& time_with) {
    best_tree best{flat, time_with(flat)};
    for (const std::uint32_t radix : radices_to_try) {
        if (radix >= ranks) break;  // from there on it is flat
        const double us = time_with(radix);
        if (us < best.us) best = {radix, us};
    }
    return best;
}

measurement read_summary(const nlohmann::ordered_json& params) {
    const subject what = read_subject(params);
    return [=](selion::world& world, const study::row_frame& frame) {
        if (!shares_one_memory(world)) return;
        team_call call(world, world.split(0u), what);
        const auto time_with = [&](std::uint32_t radix) {
            call.choose(radix);
            return median(time_call(world, call, timing::source));
        };
        const double flat_us = time_with(flat);
        const double independent_us = time_with(2);
        std::string best_name = tree_name(what.what) + "2";
        double best_us = independent_us;
        const auto consider = [&](const std::string& name, double us) {
            if (us >= best_us) return;
            best_us = us;
            best_name = name;
        };
        consider("flat", flat_us);
        const best_tree best = search_radix(world.size(), time_with);
        if (best.radix > 2) consider(tree_name(what.what) + std::to_string(best.radix), best.us);
        for (const named_choice& other : others_to_try(what.what, world.size())) {
            call.choose(other.choice);
            consider(other.name, median(time_call(world, call, timing::source)));
        }
        const auto print = [&](const char* choice, double us) {
            study::row_frame own = frame;
            own.params["choice"] = choice;
            print_value(world, own, {"throughput_vs_flat", "1"}, flat_us / us);
        };
        print("flat", flat_us);
        print("independent", independent_us);
        print("dependent", best_us);
        if (world.rank() == 0) study::print_row(frame, {"best_choice", "name"}, best_name);
    };
}

}  // namespace multicore
