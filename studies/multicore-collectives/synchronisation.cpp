// SPDX-License-Identifier: Apache-2.0
#include "synchronisation.hpp"

#include <string>

#include "trees.hpp"

namespace multicore {
namespace {

bool read_is_strict(const nlohmann::ordered_json& params) {
    const auto sync = study::parameter<std::string>(params, "sync");
    if (sync == "strict") return true;
    if (sync == "loose") return false;
    throw study::bad_argument("'sync' is '" + sync + "'; legal: strict, loose.");
}

}  // namespace

measurement read_synchronisation(const nlohmann::ordered_json& params) {
    nlohmann::ordered_json broadcast = params;
    broadcast["collective"] = "broadcast";
    const subject what = read_subject(broadcast);
    const bool is_strict = read_is_strict(params);
    return [=](selion::world& world, const study::row_frame& frame) {
        if (!shares_one_memory(world)) return;
        const selion::team everybody = world.split(0u);
        team_call barrier(world, everybody, {selion::collective_kind::barrier, 0});
        team_call call(world, everybody, what);
        const auto run = [&](std::uint32_t) {
            if (is_strict) barrier.run(0);
            call.run(0);
            if (is_strict) barrier.run(0);
        };
        const auto sample = [&](std::uint32_t radix) {
            barrier.choose(radix);
            call.choose(radix);
            return time_calls(world, run);
        };
        const best_tree best =
            search_radix(world.size(), [&](std::uint32_t radix) { return median(sample(radix)); });
        print_figure(world, frame, {"latency_us", "us"}, sample(best.radix));
    };
}

}  // namespace multicore
