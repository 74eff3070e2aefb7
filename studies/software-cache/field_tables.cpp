// SPDX-License-Identifier: Apache-2.0
#include "field_tables.hpp"

#include <string>

#include "fields.hpp"

namespace software_cache {
namespace {

/// Gives processor 1 as many dependencies as its published number of reads says: 20,722.
constexpr std::uint64_t graph_seed = 15;
/// The source prints the counts of this processor.
constexpr std::uint32_t counted_rank = 1;

field_graph read_graph(const nlohmann::ordered_json& params) {
    field_graph graph{.seed = graph_seed};
    graph.remote = 24;  // as in the source's figure 12
    if (!params.contains("remote")) return graph;
    graph.remote = study::parameter<std::uint32_t>(params, "remote");
    if (graph.remote <= 40) return graph;
    throw study::bad_argument("'remote' is " + std::to_string(graph.remote) + "; legal: 0 to 40.");
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return study::detail::rounded(100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

void read_writes(const nlohmann::ordered_json& params, setting& how) {
    const auto name = study::parameter<std::string>(params, "writes");
    if (name == "sequential") return;
    how.consistency = selion::memory_consistency::release;
    if (name == "release") return;
    how.writes = selion::write_protocol::update;
    if (name == "update") return;
    throw study::bad_argument("'writes' is '" + name + "'; legal: sequential, release, update.");
}

measurement read_field_counts(const nlohmann::ordered_json& params, const setting& how,
                              field_table which) {
    const field_graph graph = read_graph(params);
    return [=](selion::world& world, const study::row_frame& frame) {
        const field_run done = run_fields(world, graph, how);
        if (world.rank() != counted_rank % world.size()) return;
        if (which == field_table::local) {
            const selion::access_counts& all = done.accesses;
            study::print_row(frame, {"unshared_local_read_hit_percent", "%"},
                             percent(all.untouched_reads, all.reads));
            study::print_row(frame, {"unshared_local_write_hit_percent", "%"},
                             percent(all.untouched_writes, all.writes));
            return;
        }
        study::print_row(frame, {"shared_reads", "reads"}, done.own.reads);
        study::print_row(frame, {"remote_percent", "%"},
                         study::detail::rounded(done.own.remote_percent()));
        study::print_row(frame, {"hit_percent", "%"},
                         study::detail::rounded(done.own.hit_percent()));
    };
}

measurement read_field_time(const nlohmann::ordered_json& params, const setting& how) {
    const field_graph graph = read_graph(params);
    return [=](selion::world& world, const study::row_frame& frame) {
        const field_run done = run_fields(world, graph, how);
        if (world.rank() != 0) return;
        study::print_row(frame, {"time_per_iteration_ms", "ms"},
                         study::detail::rounded(done.seconds * 1000 / graph.iterations));
        if (params.contains("remote")) return;
        study::print_row(frame, {"first_iteration_ms", "ms"},
                         study::detail::rounded(done.first_seconds * 1000));
        study::print_row(frame, {"making_lists_ms", "ms"},
                         study::detail::rounded(done.list_seconds * 1000));
    };
}

}  // namespace software_cache
