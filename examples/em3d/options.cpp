// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

#include "bad_file.hpp"
#include "text_lines.hpp"

namespace em3d {

namespace {

constexpr std::uint32_t most_nodes = 1'000'000'000;
/// The time of each is kept, in 8 bytes.
constexpr std::uint32_t most_iterations = 100'000'000;

/// A value as it stands on the command line, with the option's name for messages.
struct option_value {
    std::string_view name;
    std::string_view text;

    template <class Number>
    Number between(Number least, Number most) const {
        const auto number = to_number<Number>(text);
        if (number && *number >= least && *number <= most) return *number;
        const bool is_whole = std::numeric_limits<Number>::is_integer;
        throw bad_option(std::string(name) + " must be a " + (is_whole ? "whole " : "") +
                         "number from " + shown(least) + " to " + shown(most) + ", not " +
                         in_quotes(text));
    }

private:
    template <class Number>
    static std::string shown(Number bound) {
        return std::to_string(static_cast<std::uint64_t>(bound));
    }
};

struct option_kind {
    std::string_view name;
    bool has_value;
    bool is_for_random_graph;
    void (*apply)(options& chosen, const option_value& value);
};

constexpr std::array kinds = {
    option_kind{"--mesh", true, false,
                [](options& o, const option_value& v) { o.mesh_file = std::string(v.text); }},
    option_kind{"--random", false, false, [](options&, const option_value&) {}},
    option_kind{"--graph-processors", true, true,
                [](options& o, const option_value& v) {
                    o.graph.graph_processors = v.between<std::uint32_t>(1, 1'000'000);
                }},
    option_kind{"--nodes", true, true,
                [](options& o, const option_value& v) {
                    o.graph.nodes = v.between<std::uint32_t>(1, most_nodes);
                }},
    option_kind{"--degree", true, true,
                [](options& o, const option_value& v) {
                    o.graph.degree = v.between<std::uint32_t>(1, 1'000'000);
                }},
    option_kind{
        "--remote", true, true,
        [](options& o, const option_value& v) { o.graph.remote = v.between<double>(0, 1); }},
    option_kind{"--dist-span", true, true,
                [](options& o, const option_value& v) {
                    o.graph.dist_span = v.between<std::uint32_t>(1, 1'000'000);
                }},
    option_kind{"--seed", true, false,
                [](options& o, const option_value& v) {
                    o.graph.seed =
                        v.between<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max());
                }},
    option_kind{"--iterations", true, false,
                [](options& o, const option_value& v) {
                    o.iterations = v.between<std::uint32_t>(1, most_iterations);
                }},
    option_kind{"--field", true, false,
                [](options& o, const option_value& v) { o.field_file = std::string(v.text); }},
    option_kind{"--verify", false, false,
                [](options& o, const option_value&) { o.is_verified = true; }},
    option_kind{"--json", false, false, [](options& o, const option_value&) { o.is_json = true; }},
    option_kind{"--help", false, false, [](options& o, const option_value&) { o.is_help = true; }},
};

/// Which options were given.
class seen_options {
public:
    void add(const option_kind& kind) { seen_[index_of(kind)] = true; }
    bool has(std::string_view name) const {
        return std::any_of(kinds.begin(), kinds.end(), [&](const option_kind& kind) {
            return kind.name == name && seen_[index_of(kind)];
        });
    }
    /// Name of an option that only the random graph has; empty if none was given.
    std::string_view of_random_graph() const {
        for (const option_kind& kind : kinds) {
            if (kind.is_for_random_graph && seen_[index_of(kind)]) return kind.name;
        }
        return {};
    }

private:
    static std::size_t index_of(const option_kind& kind) {
        return static_cast<std::size_t>(&kind - kinds.data());
    }
    std::array<bool, kinds.size()> seen_{};
};

const option_kind& find_kind(std::string_view name) {
    const auto found = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const option_kind& kind) { return kind.name == name; });
    if (found != kinds.end()) return *found;
    throw bad_option("there is no option " + in_quotes(name) + "; --help lists them");
}

void check_together(const options& chosen, const seen_options& seen) {
    const std::string_view of_random_graph = seen.of_random_graph();
    if (seen.has("--mesh") == seen.has("--random")) {
        throw bad_option("choose one graph: --mesh FILE or --random");
    }
    if (seen.has("--mesh") && !of_random_graph.empty()) {
        throw bad_option(std::string(of_random_graph) + " belongs to --random, not to --mesh");
    }
    if (chosen.field_file && seen.has("--random")) {
        throw bad_option("--field belongs to --mesh, not to --random");
    }
    if (chosen.mesh_file && chosen.mesh_file->empty()) {
        throw bad_option("--mesh needs the name of a file");
    }
    if (chosen.field_file && chosen.field_file->empty()) {
        throw bad_option("--field needs the name of a file");
    }
    const random_graph_settings& graph = chosen.graph;
    const std::uint64_t nodes = std::uint64_t{graph.graph_processors} * graph.nodes;
    if (nodes > most_nodes) {
        throw bad_option("--graph-processors times --nodes is " + std::to_string(nodes) +
                         "; at most " + std::to_string(most_nodes) + " nodes can be numbered");
    }
    if (graph.remote > 0 && graph.dist_span >= graph.graph_processors && seen.has("--random")) {
        throw bad_option("--dist-span " + std::to_string(graph.dist_span) + " goes all round " +
                         std::to_string(graph.graph_processors) +
                         " graph processors: it must be smaller, or --remote 0");
    }
}

}  // namespace

options parse_options(std::span<const char* const> arguments) {
    options chosen;
    seen_options seen;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view argument = arguments[i];
        const std::size_t equals = argument.find('=');
        const option_kind& kind = find_kind(argument.substr(0, equals));
        if (seen.has(kind.name)) {
            throw bad_option(std::string(kind.name) + " is given twice; give it once");
        }
        option_value value{kind.name, {}};
        if (equals != std::string_view::npos) {
            if (!kind.has_value) throw bad_option(std::string(kind.name) + " takes no value");
            value.text = argument.substr(equals + 1);
        } else if (kind.has_value) {
            if (++i == arguments.size()) {
                throw bad_option(std::string(kind.name) + " needs a value");
            }
            value.text = arguments[i];
        }
        kind.apply(chosen, value);
        seen.add(kind);
    }
    if (!chosen.is_help) check_together(chosen, seen);
    return chosen;
}

const char* help_text() {
    return R"(em3d: electric and magnetic fields on an object, computed by all ranks together

  em3d --mesh FILE [options]     on the edges and faces of a PLY or OBJ file
  em3d --random [options]        on a random graph

The mesh:
  --field FILE           write vertices, faces, edges and the last values on them, as JSON

The random graph:
  --graph-processors G   processors that the graph is made for [8]; any number of ranks computes it
  --nodes N              electric and as many magnetic nodes on each of them [500]
  --degree D             a node has 1 to D dependencies, uniformly [40]
  --remote P             probability, 0 to 1, that a dependency lies on another processor [0.2]
  --dist-span S          remote dependencies lie on one of the next S processors [1]

Both:
  --seed N               for the random graph and the values at the start [1]
  --iterations N         [100]
  --verify               compare every node with a sequential run, bit for bit
  --json                 print one row of JSON instead of the report
  --help                 print this

SELION_MACHINE chooses where it runs: threads:4, threads:64@2, processes:4, processes:2x2.
Exit status: 0, 1 if --verify finds a difference, 2 if the arguments or a file cannot be used.
)";
}

}  // namespace em3d
