// SPDX-License-Identifier: Apache-2.0
//
// EM3D: electric and magnetic fields on an object, the application of Culler et al., "Parallel
// programming in Split-C" (Supercomputing 1993). Each rank owns some of the nodes and reads the
// values of its neighbours through global pointers.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <selion/selion.hpp>

#include "../printed.hpp"
#include "bad_file.hpp"
#include "distributed_fields.hpp"
#include "field_file.hpp"
#include "mesh_file.hpp"
#include "mesh_graph.hpp"
#include "options.hpp"
#include "random_graph.hpp"
#include "report.hpp"
#include "sequential.hpp"

namespace em3d {

namespace {

/// The graph with what it is in words.
struct problem {
    std::unique_ptr<field_graph> graph;
    std::string description;
    mesh object = {};                       ///< empty for a random graph
    const mesh_graph* on_object = nullptr;  ///< null for a random graph, else `graph`
};

problem make_problem(const options& chosen) {
    if (chosen.mesh_file) {
        mesh object = read_mesh(*chosen.mesh_file);
        auto graph = std::make_unique<mesh_graph>(object, chosen.graph.seed);
        const mesh_graph* const on_object = graph.get();
        std::string description = *chosen.mesh_file + ": " +
                                  std::to_string(object.vertices.size()) + " vertices, " +
                                  std::to_string(object.face_count()) + " faces";
        return {std::move(graph), std::move(description), std::move(object), on_object};
    }
    const random_graph_settings& graph = chosen.graph;
    char remote[32];
    std::snprintf(remote, sizeof remote, "%g", graph.remote);
    return {std::make_unique<random_graph>(graph),
            "random: " + std::to_string(graph.graph_processors) + " graph processors, " +
                std::to_string(graph.nodes) + " nodes each, degree " +
                std::to_string(graph.degree) + ", remote " + remote + ", dist_span " +
                std::to_string(graph.dist_span) + ", seed " + std::to_string(graph.seed)};
}

/// Rank 0 compares every node with the reference.
/// @return the same on all ranks: whether all are equal; the words on rank 0 only.
bool verify(selion::world& world, const distributed_fields& fields, const problem& input,
            report& run) {
    bool is_equal = true;
    if (world.rank() == 0) {
        const auto iterations = static_cast<std::uint32_t>(run.iteration_ns.size());
        run.difference =
            describe_difference(fields.gather(), run_sequentially(*input.graph, iterations));
        is_equal = run.difference->empty();
    }
    return world.broadcast(is_equal, 0);
}

/// Rank 0 reads the values of all ranks and writes them to a file. @return the exit status.
int write_field(const distributed_fields& fields, const problem& input, const options& chosen) {
    try {
        write_file(*chosen.field_file,
                   as_field_json(input.object, *input.on_object, fields.gather(), *chosen.mesh_file,
                                 chosen.iterations));
    } catch (const bad_file& wrong) {
        std::fprintf(stderr, "em3d: %s\n", wrong.what());
        return 2;
    }
    return 0;
}

/// Rank 0 finds out, before the work, whether it will be able to write the field.
/// @return the same on all ranks.
bool can_write_field(selion::world& world, const options& chosen) {
    bool can_write = true;
    if (world.rank() == 0) {
        try {
            check_destination(*chosen.field_file, *chosen.mesh_file);
        } catch (const bad_file& wrong) {
            std::fprintf(stderr, "em3d: %s\n", wrong.what());
            can_write = false;
        }
    }
    return world.broadcast(can_write, 0);
}

/// What every rank does.
int solve(selion::world& world, const problem& input, const options& chosen) {
    if (chosen.field_file && !can_write_field(world, chosen)) return 2;
    distributed_fields fields(world, *input.graph);
    const division_summary division = fields.summarise();
    report run;
    run.graph = input.description;
    run.machine = world.machine().spec;
    run.ranks = world.size();
    run.electric_nodes = input.graph->node_count(field::electric);
    run.magnetic_nodes = input.graph->node_count(field::magnetic);
    run.dependencies = division.dependencies;
    run.cut = division.cut;
    if (world.rank() == 0) run.iteration_ns.reserve(chosen.iterations);
    world.barrier();
    std::int64_t before = world.now();
    for (std::uint32_t i = 0; i < chosen.iterations; ++i) {
        fields.iterate();
        const std::int64_t after = world.now();
        if (world.rank() == 0) run.iteration_ns.push_back(after - before);
        before = after;
    }

    run.remote_reads = world.all_reduce(fields.remote_reads(), selion::plus);
    run.checksum = fields.checksum();
    const bool is_right = !chosen.is_verified || verify(world, fields, input, run);
    if (world.rank() == 0) {
        std::fputs((chosen.is_json ? as_json(run) : as_text(run)).c_str(), stdout);
    }
    const bool writes = chosen.field_file && world.rank() == 0;
    int written = writes ? write_field(fields, input, chosen) : 0;
    if (world.rank() == 0) written = examples::printed("em3d", written);
    fields.release();  // waits for rank 0, which reads everybody's values
    return is_right ? written : 1;
}

}  // namespace

}  // namespace em3d

int main(int argc, char** argv) {
    // What can be wrong with the arguments and the mesh is found here, before there are ranks.
    // Under `processes` each of them comes this way as well, after the first process found it
    // right.
    em3d::options chosen;
    em3d::problem input;
    try {
        const std::vector<const char*> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
        chosen = em3d::parse_options(arguments);
        if (chosen.is_help) {
            std::fputs(em3d::help_text(), stdout);
            return examples::printed("em3d", 0);
        }
        input = em3d::make_problem(chosen);
    } catch (const em3d::bad_option& wrong) {
        std::fprintf(stderr, "em3d: %s\n", wrong.what());
        return 2;
    } catch (const em3d::bad_file& wrong) {
        std::fprintf(stderr, "em3d: %s\n", wrong.what());
        return 2;
    }
    return selion::run(argc, argv,
                       [&](selion::world& world) { return em3d::solve(world, input, chosen); });
}
