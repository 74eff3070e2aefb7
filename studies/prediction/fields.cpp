// SPDX-License-Identifier: Apache-2.0
#include "fields.hpp"

#include <vector>

#include "distributed_fields.hpp"

namespace prediction {

em3d::random_graph_settings read_graph(const nlohmann::ordered_json& params) {
    const auto nodes = study::parameter<std::uint64_t>(params, "nodes");
    const auto remote_percent = study::parameter<std::uint64_t>(params, "remote_percent");
    if (nodes < 2 || nodes > 100'000 || nodes % 2 != 0) {
        throw study::bad_argument("'nodes' is " + std::to_string(nodes) +
                                  "; legal: even numbers from 2 to 100000.");
    }
    if (remote_percent > 100) {
        throw study::bad_argument("'remote_percent' is " + std::to_string(remote_percent) +
                                  "; legal: 0 to 100.");
    }
    return {.graph_processors = 2,
            .nodes = static_cast<std::uint32_t>(nodes / 2),
            .degree = 20,
            .remote = static_cast<double>(remote_percent) / 100};
}

study::spread time_iterations(selion::world& world, const em3d::random_graph& graph) {
    constexpr int warm_up = 20;
    constexpr int iterations = 201;
    em3d::distributed_fields fields(world, graph);
    for (int i = 0; i < warm_up; ++i) fields.iterate();
    std::vector<double> each;
    std::int64_t before = world.now();
    for (int i = 0; i < iterations; ++i) {
        fields.iterate();  // ends with a barrier
        const std::int64_t after = world.now();
        each.push_back(static_cast<double>(after - before));
        before = after;
    }
    fields.release();
    return study::spread_of(each);
}

}  // namespace prediction
