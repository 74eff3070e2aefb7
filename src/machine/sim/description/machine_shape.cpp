// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "machine/sim/description/machine_reader.hpp"
#include "machine/spec.hpp"

namespace selion::machine::sim {
namespace {

/// How large a shape is, and how a user makes it larger.
struct room {
    std::uint64_t ranks = 0;
    std::string what;                    ///< "4 rows of 4 cores"
    std::string cure;                    ///< "rows=8,columns=8"
    std::vector<std::string_view> keys;  ///< that say so
};

/// Sides of a torus of so many nodes, as equal as they can be, the largest last.
std::vector<std::uint32_t> balanced_sides(std::uint32_t nodes, std::size_t dimensions) {
    std::vector<std::uint32_t> sides;
    for (std::size_t left = dimensions; left > 1; --left) {
        const double ideal = std::pow(static_cast<double>(nodes), 1.0 / static_cast<double>(left));
        auto side = static_cast<std::uint32_t>(ideal + 1e-9);
        while (side > 1 && nodes % side != 0) --side;
        sides.push_back(std::max(side, 1u));
        nodes /= sides.back();
    }
    sides.push_back(nodes);
    return sides;
}

std::uint64_t product(const std::vector<std::uint32_t>& sides) {
    std::uint64_t all = 1;
    for (const std::uint32_t side : sides) all = std::min(all * side, std::uint64_t{max_ranks} + 1);
    return all;
}

constexpr std::uint64_t most_cores = 64;   ///< of a node: a bit for each (node_memory)
constexpr std::uint32_t most_fpus = 1024;  ///< of a core: each is looked at
constexpr std::uint64_t page_bytes = 4096;

class shape_settler {
public:
    explicit shape_settler(machine_draft& draft) : draft_(draft), model_(draft.model) {}

    void settle() {
        expect_effect();
        settle_nodes();
        if (model_.node) {
            settle_processes();
        } else if (draft_.processes != 0) {
            reject_without_node("machine.processes", draft_.processes);
        } else if (draft_.threads != 0) {
            reject_without_node("machine.threads", draft_.threads);
        }
        const room space = room_of_shape();
        if (space.ranks > max_ranks) {
            draft_.reject_at(space.keys,
                             fmt::format("{} has room for {} ranks; an address names at most {}",
                                         space.what, space.ranks, max_ranks));
        }
        model_.most_ranks = static_cast<std::uint32_t>(space.ranks);
        model_.ranks = draft_.ranks != 0 ? draft_.ranks : default_ranks();
        std::vector<std::string_view> keys = space.keys;
        keys.insert(keys.begin(), {"machine.ranks", "network.boards"});
        if (model_.ranks > max_ranks) {
            draft_.reject_at(keys,
                             fmt::format("{} ranks are asked for; an address names at most {}",
                                         model_.ranks, max_ranks));
        }
        if (model_.ranks > model_.most_ranks) {
            draft_.reject_at(
                keys, fmt::format("{} has room for {} ({}), and {} are asked for; for more add {}",
                                  model_.name, count_text(space.ranks, "rank"), space.what,
                                  model_.ranks, space.cure));
        }
        if (model_.network == network_kind::bus) expect_slots();
    }

private:
    /// Keys that would change nothing, and tables that the network cannot have beside it.
    void expect_effect() const {
        const network_kind network = model_.network;
        if (model_.node && (network == network_kind::mesh || network == network_kind::bus)) {
            draft_.reject_at({"node"},
                             fmt::format("[node] goes with a network of kind crossbar or torus, or "
                                         "with none; the ranks of a {} have a memory each",
                                         draft_.network_kind));
        }
        if (draft_.most_ranks != 0 && (network != network_kind::crossbar || model_.node)) {
            draft_.reject_at({"machine.most_ranks"},
                             "most_ranks is for a crossbar without [node]; here the shape says how "
                             "many ranks there are");
        }
        for (const std::string_view key : {"network.expander_TIME", "network.expander_PER_BYTE"}) {
            const statement* const cost = draft_.said(key);
            if (cost == nullptr || model_.bus.boards_per_expander != 0) continue;
            const statement* const boxes = draft_.said("network.boards_per_expander");
            // An option may take the boxes away.
            if (boxes != nullptr && boxes->speaker > cost->speaker) continue;
            reject(cost->place,
                   "expander is for boards in boxes; boards_per_expander says how many sit in one");
        }
    }

    void settle_nodes() {
        if (model_.network == network_kind::torus) {
            settle_sides();
        } else if (draft_.nodes != 0) {
            if (!model_.node) reject_without_node("machine.nodes", draft_.nodes);
            model_.nodes = draft_.nodes;
        }
        if (model_.nodes > 1 && model_.network == network_kind::none) {
            draft_.reject_at({"machine.nodes"}, "several nodes need a [network] between them");
        }
    }

    void settle_sides() {
        std::vector<std::uint32_t>& sides = model_.torus.sides;
        if (sides.empty()) draft_.reject_at({"network"}, "[network] of kind torus needs sides");
        if (draft_.nodes != 0) settle_nodes_of_torus();
        if (product(sides) > max_ranks) {
            draft_.reject_at(
                {"network.sides", "machine.nodes"},
                fmt::format("sides {} make more than {} nodes", fmt::join(sides, "x"), max_ranks));
        }
        model_.nodes = static_cast<std::uint32_t>(product(sides));
    }

    /// `nodes` changes the sides of those who speak before it, and theirs only.
    void settle_nodes_of_torus() {
        std::vector<std::uint32_t>& sides = model_.torus.sides;
        const said_by by = draft_.said("machine.nodes")->speaker;
        const said_by sides_by = draft_.said("network.sides")->speaker;
        const auto note = [&](std::string_view key) {
            return std::ranges::find(model_.constants, key, &constant_note::key);
        };
        if (by < sides_by) {
            model_.constants.erase(note("machine.nodes"));
            return;
        }
        const bool agree = draft_.nodes == product(sides);
        if (by == sides_by && (!agree || by == said_by::spec)) {
            draft_.reject_at({"machine.nodes"},
                             fmt::format("nodes = {} and sides {}, which make {}, are both given; "
                                         "give one of them",
                                         draft_.nodes, fmt::join(sides, "x"), product(sides)));
        }
        if (agree) return;
        sides = balanced_sides(draft_.nodes, sides.size());
        const auto shown = note("network.sides");
        shown->value = fmt::format("[{}]", fmt::join(sides, ", "));
        shown->source = fmt::format(
            "assumed because {} nodes are spread over {} as evenly as they "
            "can be",
            draft_.nodes, count_text(sides.size(), "dimension"));
    }

    [[noreturn]] void reject_without_node(std::string_view key, std::uint32_t value) const {
        draft_.reject_at(
            {key}, fmt::format("{} = {} needs a [node] that says what they run on", key, value));
    }

    void expect_node() const {
        const node_model& node = *model_.node;
        if (node.fpus > most_fpus) {
            draft_.reject_at({"node.fpus_per_core"},
                             fmt::format("fpus_per_core = {} is too many; a core has at most {}",
                                         node.fpus, most_fpus));
        }
        const std::vector<std::string_view> sizes{"node.cores_per_socket", "node.sockets",
                                                  "node.threads_per_core"};
        const std::uint64_t cores = std::uint64_t{node.sockets} * node.cores;
        if (cores > most_cores) {
            draft_.reject_at(sizes, fmt::format("a node of {} cores is too large: who shares a "
                                                "line is known of at most {}",
                                                cores, most_cores));
        }
        if (cores * node.threads > max_ranks) {
            draft_.reject_at({"node.threads_per_core"},
                             fmt::format("a node of {} hardware threads is too large; an address "
                                         "names at most {} ranks",
                                         cores * node.threads, max_ranks));
        }
        if (!std::has_single_bit(node.line_bytes) || node.line_bytes > page_bytes) {
            draft_.reject_at({"node.line_SIZE"}, fmt::format("a line of {} bytes is none: it must "
                                                             "divide a page of {}",
                                                             node.line_bytes, page_bytes));
        }
        if (node.sockets > 1 && node.cores % node.cores_per_cache != 0) {
            draft_.reject_at({"node.cores_per_cache", "node.cores_per_socket"},
                             fmt::format("cores_per_cache = {} must divide cores_per_socket = {}: "
                                         "a cache lies in one socket",
                                         node.cores_per_cache, node.cores));
        }
    }

    void settle_processes() {
        expect_node();
        const node_model& node = *model_.node;
        const std::uint32_t limit = node.sockets * node.cores * node.threads;
        std::uint32_t processes = draft_.processes;
        std::uint32_t threads = draft_.threads;
        if (processes == 0) processes = threads == 0 ? 1 : std::max(1u, limit / threads);
        if (threads == 0) threads = std::max(1u, limit / processes);
        if (std::uint64_t{processes} * threads > limit) {
            draft_.reject_at(
                {"machine.processes", "machine.threads"},
                fmt::format("{} of {} are more than the {} of a node of {} ({}, {} each, {} each)",
                            count_text(processes, "process"), count_text(threads, "thread"),
                            count_text(limit, "hardware thread"), model_.name,
                            count_text(node.sockets, "socket"), count_text(node.cores, "core"),
                            count_text(node.threads, "thread")));
        }
        if (processes > 1 && model_.network == network_kind::none) {
            draft_.reject_at({draft_.processes != 0 ? "machine.processes" : "machine.threads"},
                             fmt::format("{} processes on a node need a [network] between them; "
                                         "processes=1 needs none",
                                         processes));
        }
        model_.processes_per_node = processes;
        model_.threads_per_process = threads;
    }

    room room_of_shape() const {
        switch (model_.network) {
            case network_kind::mesh: return room_of_mesh();
            case network_kind::bus: return room_of_bus();
            case network_kind::crossbar:
                if (!model_.node) return room_of_crossbar();
                break;
            default: break;
        }
        return room_of_nodes();
    }

    room room_of_bus() const {
        const std::uint32_t most = draft_.most_boards != 0 ? draft_.most_boards : draft_.boards;
        const std::uint32_t wanted = draft_.ranks != 0 ? draft_.ranks - 1 : draft_.boards;
        return {most + 1ull,
                fmt::format("a host and {}", count_text(most, "board")),
                fmt::format("network.most_boards={}", wanted),
                {"network.most_boards"}};
    }

    /// Without a limit in the file, that of addresses.
    room room_of_crossbar() const {
        const std::uint32_t most = draft_.most_ranks != 0 ? draft_.most_ranks : max_ranks;
        return {most,
                "one for each port",
                fmt::format("machine.most_ranks={}", draft_.ranks),
                {"machine.most_ranks"}};
    }

    room room_of_mesh() const {
        const mesh_model& mesh = model_.mesh;
        constexpr std::uint32_t most_side = 32767;
        if (std::max(mesh.rows, mesh.columns) > most_side) {
            draft_.reject_at({mesh.rows > most_side ? "network.rows" : "network.columns"},
                             fmt::format("a mesh has at most {} rows and columns, not {} and {}",
                                         most_side, mesh.rows, mesh.columns));
        }
        const auto side = static_cast<std::uint32_t>(std::ceil(std::sqrt(draft_.ranks)));
        return {
            std::uint64_t{mesh.rows} * mesh.columns,
            fmt::format("{} of {}", count_text(mesh.rows, "row"), count_text(mesh.columns, "core")),
            fmt::format("rows={0},columns={0}", side),
            {"network.rows", "network.columns"}};
    }

    /// Boards sit in slots of the host, or in boxes that take one each.
    void expect_slots() const {
        const bus_model& bus = model_.bus;
        if (bus.slots == 0) return;
        const std::uint64_t in_each = std::max(bus.boards_per_expander, 1u);
        const std::uint64_t most = bus.slots * in_each;
        if (model_.ranks - 1 <= most) return;
        const std::string boxes =
            bus.boards_per_expander == 0
                ? ""
                : fmt::format(" and boxes of network.boards_per_expander = {}", in_each);
        draft_.reject_at(
            {"network.slots", "network.boards_per_expander", "network.boards", "machine.ranks"},
            fmt::format("with network.slots = {}{} there is room for {}, and {} are "
                        "asked for",
                        bus.slots, boxes, count_text(most, "board"), model_.ranks - 1));
    }

    /// Ranks on nodes without wires between them: all on one.
    std::string cure_of_one_node() const {
        const node_model& node = *model_.node;
        const std::uint64_t places = std::uint64_t{node.sockets} * node.cores * node.threads;
        const std::string threads =
            draft_.threads == 0 ? "" : fmt::format("threads={}", draft_.ranks);
        if (draft_.ranks <= places) return threads;
        const std::uint64_t of_one_core = std::uint64_t{node.sockets} * node.threads;
        std::uint64_t cores = (draft_.ranks + of_one_core - 1) / of_one_core;
        if (node.sockets > 1) {  // whole caches
            const std::uint64_t each = node.cores_per_cache;
            cores = (cores + each - 1) / each * each;
        }
        if (cores * node.sockets > most_cores) return "a [network] that joins several nodes";
        return fmt::format("node.cores_per_socket={}{}{}", cores, threads.empty() ? "" : ",",
                           threads);
    }

    room room_of_nodes() const {
        const std::vector<std::string_view> keys{"machine.nodes", "machine.processes",
                                                 "machine.threads", "network.sides"};
        if (!model_.node) {
            return {model_.nodes, "one on each node",
                    model_.network == network_kind::none ? "a [network] that joins several"
                                                         : fmt::format("nodes={}", draft_.ranks),
                    keys};
        }
        const std::uint64_t on_one =
            std::uint64_t{model_.processes_per_node} * model_.threads_per_process;
        return {model_.nodes * on_one,
                fmt::format("{} of {} with {}", count_text(model_.nodes, "node"),
                            count_text(model_.processes_per_node, "process"),
                            count_text(model_.threads_per_process, "thread")),
                model_.network != network_kind::none
                    ? fmt::format("nodes={}", (draft_.ranks + on_one - 1) / on_one)
                    : cure_of_one_node(),
                keys};
    }

    /// Where the file says nothing: everything there is.
    std::uint32_t default_ranks() const {
        switch (model_.network) {
            case network_kind::bus:  // more than there may be are too many without this one, too
                return draft_.boards + (draft_.boards <= max_ranks ? 1 : 0);
            case network_kind::mesh: return model_.mesh.rows * model_.mesh.columns;
            case network_kind::crossbar:
                if (!model_.node) {
                    draft_.reject_at({"machine"}, "[machine] needs ranks, for a crossbar has any");
                }
                break;
            default: break;
        }
        return model_.most_ranks;
    }

    machine_draft& draft_;
    machine_model& model_;
};

}  // namespace

void settle_shape(machine_draft& draft) { shape_settler(draft).settle(); }

}  // namespace selion::machine::sim
