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
    std::string what;  ///< "4 rows of 4 cores"
    std::string cure;  ///< "rows=8,columns=8"
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
    shape_settler(machine_draft& draft, const machine_document& document)
        : draft_(draft), model_(draft.model), file_(document.file) {}

    void settle() {
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
            reject(file_, fmt::format("{} has room for {} ranks; an address names at most {}",
                                      space.what, space.ranks, max_ranks));
        }
        model_.most_ranks = static_cast<std::uint32_t>(space.ranks);
        model_.ranks = draft_.ranks != 0 ? draft_.ranks : default_ranks();
        if (model_.ranks > max_ranks) {
            reject(file_, fmt::format("{} ranks are asked for; an address names at most {}",
                                      model_.ranks, max_ranks));
        }
        if (model_.ranks > model_.most_ranks) {
            reject(file_,
                   fmt::format("{} has room for {} ranks ({}), and {} are asked for; for "
                               "more add {}",
                               model_.name, space.ranks, space.what, model_.ranks, space.cure));
        }
        if (model_.network == network_kind::bus) expect_slots();
    }

private:
    void settle_nodes() {
        if (model_.network == network_kind::torus) {
            std::vector<std::uint32_t>& sides = model_.torus.sides;
            if (sides.empty()) reject(file_, "[network] of kind torus needs sides");
            if (draft_.nodes != 0 && draft_.nodes != product(sides)) {
                sides = balanced_sides(draft_.nodes, sides.size());
            }
            if (product(sides) > max_ranks) {
                reject(file_, fmt::format("sides {} make more than {} nodes", fmt::join(sides, "x"),
                                          max_ranks));
            }
            model_.nodes = static_cast<std::uint32_t>(product(sides));
        } else if (draft_.nodes != 0) {
            if (!model_.node) reject_without_node("machine.nodes", draft_.nodes);
            model_.nodes = draft_.nodes;
        }
        if (model_.nodes > 1 && model_.network == network_kind::none) {
            reject(file_, "several nodes need a [network] between them");
        }
    }

    [[noreturn]] void reject_without_node(std::string_view key, std::uint32_t value) const {
        reject(file_, fmt::format("{} = {} needs a [node] that says what they run on", key, value));
    }

    void settle_processes() {
        const node_model& node = *model_.node;
        if (node.fpus > most_fpus) {
            reject(file_, fmt::format("fpus_per_core = {} is too many; a core has at most {}",
                                      node.fpus, most_fpus));
        }
        const std::uint64_t places = std::uint64_t{node.sockets} * node.cores * node.threads;
        if (places > max_ranks) {
            reject(file_, fmt::format("a node of {} hardware threads is too large", places));
        }
        const std::uint64_t cores = std::uint64_t{node.sockets} * node.cores;
        if (cores > most_cores) {
            reject(file_, fmt::format("a node of {} cores is too large: who shares a line is known "
                                      "of at most {}",
                                      cores, most_cores));
        }
        if (!std::has_single_bit(node.line_bytes) || node.line_bytes > page_bytes) {
            reject(file_, fmt::format("a line of {} bytes is none: it must divide a page of {}",
                                      node.line_bytes, page_bytes));
        }
        if (node.sockets > 1 && node.cores % node.cores_per_cache != 0) {
            reject(file_, fmt::format("cores_per_cache = {} must divide cores_per_socket = {}: a "
                                      "cache lies in one socket",
                                      node.cores_per_cache, node.cores));
        }
        const auto limit = static_cast<std::uint32_t>(places);
        std::uint32_t processes = draft_.processes;
        std::uint32_t threads = draft_.threads;
        if (processes == 0) processes = threads == 0 ? 1 : std::max(1u, limit / threads);
        if (threads == 0) threads = std::max(1u, limit / processes);
        if (std::uint64_t{processes} * threads > limit) {
            reject(file_, fmt::format("{} processes of {} threads are more than the {} hardware "
                                      "threads of a node of {} ({} sockets, {} cores each, {} "
                                      "threads each)",
                                      processes, threads, limit, model_.name, node.sockets,
                                      node.cores, node.threads));
        }
        if (processes > 1 && model_.network == network_kind::none) {
            reject(file_, fmt::format("{} processes on a node need a [network] between them; "
                                      "processes=1 needs none",
                                      processes));
        }
        model_.processes_per_node = processes;
        model_.threads_per_process = threads;
    }

    room room_of_shape() const {
        switch (model_.network) {
            case network_kind::mesh: return room_of_mesh();
            case network_kind::bus: {
                const std::uint32_t most =
                    draft_.most_boards != 0 ? draft_.most_boards : draft_.boards;
                const std::uint32_t wanted = draft_.ranks != 0 ? draft_.ranks - 1 : draft_.boards;
                return {most + 1ull, fmt::format("a host and {} boards", most),
                        fmt::format("network.most_boards={}", wanted)};
            }
            case network_kind::crossbar:
                if (!model_.node) return room_of_crossbar();
                break;
            default: break;
        }
        return room_of_nodes();
    }

    /// Without a limit in the file, that of addresses.
    room room_of_crossbar() const {
        const std::uint32_t most = draft_.most_ranks != 0 ? draft_.most_ranks : max_ranks;
        return {most, "one for each port", fmt::format("machine.most_ranks={}", draft_.ranks)};
    }

    room room_of_mesh() const {
        const mesh_model& mesh = model_.mesh;
        constexpr std::uint32_t most_side = 32767;
        if (std::max(mesh.rows, mesh.columns) > most_side) {
            reject(file_, fmt::format("a mesh has at most {} rows and columns, not {} and {}",
                                      most_side, mesh.rows, mesh.columns));
        }
        const auto side = static_cast<std::uint32_t>(std::ceil(std::sqrt(draft_.ranks)));
        return {std::uint64_t{mesh.rows} * mesh.columns,
                fmt::format("{} rows of {} cores", mesh.rows, mesh.columns),
                fmt::format("rows={0},columns={0}", side)};
    }

    /// Boards sit in slots of the host, or in boxes that take one each.
    void expect_slots() const {
        const bus_model& bus = model_.bus;
        if (bus.slots == 0 || bus.boards_per_expander == 0) return;
        const std::uint64_t most = std::uint64_t{bus.slots} * bus.boards_per_expander;
        if (model_.ranks - 1 <= most) return;
        reject(file_, fmt::format("network.slots = {} have room for {} boards, with boxes of "
                                  "network.boards_per_expander = {}, and {} are asked for",
                                  bus.slots, most, bus.boards_per_expander, model_.ranks - 1));
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
        if (!model_.node) {
            return {model_.nodes, "one on each node",
                    model_.network == network_kind::none ? "a [network] that joins several"
                                                         : fmt::format("nodes={}", draft_.ranks)};
        }
        const std::uint64_t on_one =
            std::uint64_t{model_.processes_per_node} * model_.threads_per_process;
        return {model_.nodes * on_one,
                fmt::format("{} nodes of {} processes with {} threads", model_.nodes,
                            model_.processes_per_node, model_.threads_per_process),
                model_.network != network_kind::none
                    ? fmt::format("nodes={}", (draft_.ranks + on_one - 1) / on_one)
                    : cure_of_one_node()};
    }

    /// Where the file says nothing: everything there is.
    std::uint32_t default_ranks() const {
        switch (model_.network) {
            case network_kind::bus:  // more than there may be are too many without this one, too
                return std::max(draft_.boards, 1u) + (draft_.boards <= max_ranks ? 1 : 0);
            case network_kind::mesh: return model_.mesh.rows * model_.mesh.columns;
            case network_kind::crossbar:
                if (!model_.node) reject(file_, "[machine] needs ranks, for a crossbar has any");
                break;
            default: break;
        }
        return model_.most_ranks;
    }

    machine_draft& draft_;
    machine_model& model_;
    const std::string& file_;
};

}  // namespace

void settle_shape(machine_draft& draft, const machine_document& document) {
    shape_settler(draft, document).settle();
}

}  // namespace selion::machine::sim
