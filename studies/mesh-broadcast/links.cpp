// SPDX-License-Identifier: Apache-2.0
#include "links.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace mesh_broadcast {
namespace {

struct port {
    const char* name;
    std::int32_t across;
    std::int32_t down;
};
/// That of the core first: its link goes from the core to itself.
constexpr std::array<port, 5> ports{
    {{"core", 0, 0}, {"east", 1, 0}, {"south", 0, 1}, {"west", -1, 0}, {"north", 0, -1}}};

/// What is said of each link: the meter's event and the metric.
struct figure {
    const char* event;
    const char* metric;
    const char* unit;
};
constexpr std::array<figure, 3> figures{{{"mesh_bytes", "link_bytes", "bytes"},
                                         {"mesh_access", "link_busy_ticks", "ticks"},
                                         {"mesh_wait", "link_wait_ticks", "ticks"}}};

struct link_end {
    std::int64_t core;
    bool is_beyond_edge;  ///< only a mesh that wraps around has that link
};

/// @return the core at the other end, or the own one.
link_end end_of(std::uint32_t core, const port& which, selion::mesh_shape mesh) {
    const std::int64_t row = std::int64_t{core / mesh.columns} + which.down;
    const std::int64_t column = std::int64_t{core % mesh.columns} + which.across;
    const bool is_on_mesh = row >= 0 && row < mesh.rows && column >= 0 && column < mesh.columns;
    const std::int64_t there =
        (row + mesh.rows) % mesh.rows * mesh.columns + (column + mesh.columns) % mesh.columns;
    return {there, !is_on_mesh};
}

/// Whether something has gone over an edge: then the mesh wraps around.
bool wraps_around(const std::vector<selion::meter_summary>& bytes, selion::mesh_shape mesh) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
        for (std::uint32_t core = 0; core < bytes[i].by_member.size(); ++core) {
            if (end_of(core, ports[i], mesh).is_beyond_edge && bytes[i].by_member[core] != 0) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

void print_links(selion::world& world, const study::row_frame& frame, const broadcast& what) {
    const selion::mesh_shape mesh = selion::mesh_of(world.machine());
    sender own(world, what);
    std::vector<selion::meter> meters;
    for (const figure& each : figures) {
        for (const port& which : ports) {
            meters.emplace_back("link", std::string(each.event) + ":" + which.name);
        }
    }
    selion::meter clock("all-to-all broadcast");
    world.barrier();
    let_arrive(what);  // the barrier's own messages
    for (selion::meter& each : meters) each.start();
    let_arrive(what);  // nobody sends before all meters run
    clock.start();
    for (std::uint32_t i = 0; i < what.iterations; ++i) own.send_to_all();
    clock.stop();
    let_arrive(what);
    for (selion::meter& each : meters) each.stop();
    let_arrive(what);  // nobody's barrier begins before all meters have stopped
    world.barrier();
    own.check_and_release();
    const double ticks = selion::summarise(world, clock).mean / what.iterations;
    if (world.rank() == 0) {
        study::print_row(frame, {"ticks", "ticks"}, study::detail::rounded(ticks));
    }
    std::vector<selion::meter_summary> all;
    for (const selion::meter& each : meters) all.push_back(selion::summarise(world, each));
    if (world.rank() != 0) return;
    const bool wraps = wraps_around(all, mesh);  // bytes come first
    if (wraps && (mesh.rows == 2 || mesh.columns == 2)) {
        std::puts(R"({"skipped":"two links join the same cores, which rows cannot tell apart"})");
        return;
    }
    for (std::size_t i = 0; i < meters.size(); ++i) {
        const figure& said = figures[i / ports.size()];
        const port& which = ports[i % ports.size()];
        for (std::uint32_t core = 0; core < world.size(); ++core) {
            const link_end end = end_of(core, which, mesh);
            if (end.is_beyond_edge && !wraps) continue;
            study::row_frame of_link = frame;
            of_link.params["from"] = core;
            of_link.params["to"] = end.core;
            study::print_row(of_link, {said.metric, said.unit},
                             study::detail::rounded(all[i].by_member[core] / what.iterations));
        }
    }
}

}  // namespace mesh_broadcast
