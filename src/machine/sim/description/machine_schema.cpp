// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/machine_schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/nearest_name.hpp"

namespace selion::machine::sim {
namespace {

using draft = machine_draft;
using enum quantity;

constexpr std::array machine_keys{
    machine_key{"name", word, [](draft& d) -> destination { return &d.model.name; }},
    machine_key{"summary", word, [](draft& d) -> destination { return &d.model.summary; }},
    machine_key{"ranks", count, [](draft& d) -> destination { return &d.ranks; }, 1},
    machine_key{"most_ranks", count, [](draft& d) -> destination { return &d.most_ranks; }, 1},
    machine_key{"nodes", count, [](draft& d) -> destination { return &d.nodes; }, 1},
    machine_key{"processes", count, [](draft& d) -> destination { return &d.processes; }, 1},
    machine_key{"threads", count, [](draft& d) -> destination { return &d.threads; }, 1},
};

constexpr std::array clock_keys{
    machine_key{"frequency", frequency, [](draft& d) -> destination { return &d.frequency_hz; }, 1},
    machine_key{"tick", word, [](draft& d) -> destination { return &d.tick; }, 0,
                "picosecond,cycle,half_cycle"},
};

constexpr std::array processor_keys{
    machine_key{"flop", each, [](draft& d) -> destination { return &d.processor->flop; }},
    machine_key{"int_op", each, [](draft& d) -> destination { return &d.processor->int_op; }},
    machine_key{"load", each, [](draft& d) -> destination { return &d.processor->load; }},
    machine_key{"store", each, [](draft& d) -> destination { return &d.processor->store; }},
    machine_key{"copied_byte", each,
                [](draft& d) -> destination { return &d.processor->copied_byte; }},
    machine_key{"call", time, [](draft& d) -> destination { return &d.processor->call; }},
    machine_key{"poll", time, [](draft& d) -> destination { return &d.processor->poll; }},
};

constexpr std::array memory_keys{
    machine_key{"each_rank", bytes, [](draft& d) -> destination { return &d.model.memory_bytes; },
                1},
};

// `kind` stands in front of every network's own keys.
constexpr machine_key network_kind_key{"kind", word,
                                       [](draft& d) -> destination { return &d.network_kind; }, 0,
                                       "crossbar,mesh,torus,bus"};

constexpr std::array unknown_network_keys{network_kind_key};

constexpr std::array crossbar_keys{
    network_kind_key,
    machine_key{"latency", time, [](draft& d) -> destination { return &d.model.crossbar.latency; }},
    machine_key{"gap", time, [](draft& d) -> destination { return &d.model.crossbar.gap; }},
    machine_key{"port", per_byte,
                [](draft& d) -> destination { return &d.model.crossbar.per_byte; }},
    machine_key{"packet", bytes,
                [](draft& d) -> destination { return &d.model.crossbar.packet_bytes; }},
    machine_key{"packet_gap", time,
                [](draft& d) -> destination { return &d.model.crossbar.packet_gap; }},
};

constexpr std::array mesh_keys{
    network_kind_key,
    machine_key{"rows", count, [](draft& d) -> destination { return &d.model.mesh.rows; }, 1},
    machine_key{"columns", count, [](draft& d) -> destination { return &d.model.mesh.columns; }, 1},
    machine_key{"wraps_around", truth,
                [](draft& d) -> destination { return &d.model.mesh.wraps_around; }},
    machine_key{"granularity", word, [](draft& d) -> destination { return &d.granularity; }, 0,
                "transactions,messages"},
    machine_key{"entry", time, [](draft& d) -> destination { return &d.model.mesh.entry; }},
    machine_key{"hop", time, [](draft& d) -> destination { return &d.model.mesh.hop; }},
    machine_key{"slot", time, [](draft& d) -> destination { return &d.model.mesh.slot; }},
    machine_key{"transaction", bytes,
                [](draft& d) -> destination { return &d.model.mesh.transaction_bytes; }, 1},
    machine_key{"store", bytes, [](draft& d) -> destination { return &d.model.mesh.store_bytes; },
                1},
    machine_key{"queue_slots", count,
                [](draft& d) -> destination { return &d.model.mesh.queue_slots; }, 1},
    machine_key{"read_entry", time,
                [](draft& d) -> destination { return &d.model.mesh.read_entry; }},
    machine_key{"read_hop", time, [](draft& d) -> destination { return &d.model.mesh.read_hop; }},
    machine_key{"dma_setup", time, [](draft& d) -> destination { return &d.model.mesh.dma_setup; }},
    machine_key{"dma_chain", time, [](draft& d) -> destination { return &d.model.mesh.dma_chain; }},
    machine_key{"dma", per_byte,
                [](draft& d) -> destination { return &d.model.mesh.dma_per_byte; }},
    machine_key{"dma_from", bytes,
                [](draft& d) -> destination { return &d.model.mesh.dma_from_bytes; }},
    machine_key{"unroll", count, [](draft& d) -> destination { return &d.model.mesh.loop_unroll; },
                1},
    machine_key{"unrolled_store", time,
                [](draft& d) -> destination { return &d.model.mesh.unrolled_store; }},
    machine_key{"remainder_store", time,
                [](draft& d) -> destination { return &d.model.mesh.remainder_store; }},
    machine_key{"loop_entry", time,
                [](draft& d) -> destination { return &d.model.mesh.loop_entry; }},
};

constexpr std::array torus_keys{
    network_kind_key,
    machine_key{"sides", list, [](draft& d) -> destination { return &d.model.torus.sides; }, 1},
    machine_key{"wraps_around", truth,
                [](draft& d) -> destination { return &d.model.torus.wraps_around; }},
    machine_key{"entry", time, [](draft& d) -> destination { return &d.model.torus.entry; }},
    machine_key{"hop", time, [](draft& d) -> destination { return &d.model.torus.hop; }},
    machine_key{"link", per_byte, [](draft& d) -> destination { return &d.model.torus.per_byte; }},
    machine_key{"gap", time, [](draft& d) -> destination { return &d.model.torus.gap; }},
};

constexpr std::array bus_keys{
    network_kind_key,
    machine_key{"boards", count, [](draft& d) -> destination { return &d.boards; }, 1},
    machine_key{"most_boards", count, [](draft& d) -> destination { return &d.most_boards; }, 1},
    machine_key{"setup", time, [](draft& d) -> destination { return &d.model.bus.setup; }},
    machine_key{"write", per_byte,
                [](draft& d) -> destination { return &d.model.bus.write_per_byte; }},
    machine_key{"read", per_byte,
                [](draft& d) -> destination { return &d.model.bus.read_per_byte; }},
    machine_key{"burst", factor, [](draft& d) -> destination { return &d.model.bus.burst; }, 1},
    machine_key{"dma", truth, [](draft& d) -> destination { return &d.model.bus.has_dma; }},
    machine_key{"broadcast", truth,
                [](draft& d) -> destination { return &d.model.bus.has_broadcast; }},
    machine_key{"boards_are_masters", truth,
                [](draft& d) -> destination { return &d.model.bus.boards_are_masters; }},
    machine_key{"idle_boards_only", truth,
                [](draft& d) -> destination { return &d.model.bus.idle_boards_only; }},
    machine_key{"slots", count, [](draft& d) -> destination { return &d.model.bus.slots; }},
    machine_key{"boards_per_expander", count,
                [](draft& d) -> destination { return &d.model.bus.boards_per_expander; }},
    machine_key{"expander", time, [](draft& d) -> destination { return &d.model.bus.expander; }},
    machine_key{"expander", per_byte,
                [](draft& d) -> destination { return &d.model.bus.expander_per_byte; }},
};

constexpr std::array node_keys{
    machine_key{"sockets", count, [](draft& d) -> destination { return &d.node.sockets; }, 1},
    machine_key{"cores_per_socket", count, [](draft& d) -> destination { return &d.node.cores; },
                1},
    machine_key{"threads_per_core", count, [](draft& d) -> destination { return &d.node.threads; },
                1},
    machine_key{"cores_per_cache", count,
                [](draft& d) -> destination { return &d.node.cores_per_cache; }, 1},
    machine_key{"fpus_per_core", count, [](draft& d) -> destination { return &d.node.fpus; }, 1},
    machine_key{"line", bytes, [](draft& d) -> destination { return &d.node.line_bytes; }, 8},
    machine_key{"hit", time, [](draft& d) -> destination { return &d.node.hit; }},
    machine_key{"same_core", time, [](draft& d) -> destination { return &d.node.same_core; }},
    machine_key{"near", time, [](draft& d) -> destination { return &d.node.near; }},
    machine_key{"far", time, [](draft& d) -> destination { return &d.node.far; }},
    machine_key{"from_memory", time, [](draft& d) -> destination { return &d.node.from_memory; }},
    machine_key{"atomic", time, [](draft& d) -> destination { return &d.node.atomic; }},
    machine_key{"memory", per_byte,
                [](draft& d) -> destination { return &d.node.memory_per_byte; }},
    machine_key{"copy", per_byte, [](draft& d) -> destination { return &d.node.core_per_byte; }},
    machine_key{"line_service", time, [](draft& d) -> destination { return &d.node.line_service; }},
    machine_key{"wake", time, [](draft& d) -> destination { return &d.node.wake; }},
};

constexpr std::array reception_keys{
    machine_key{"kind", word, [](draft& d) -> destination { return &d.reception_kind; }, 0,
                "hardware,polling,interrupt"},
    machine_key{"dispatch", time,
                [](draft& d) -> destination { return &d.model.reception.dispatch; }},
    machine_key{"interrupt", time,
                [](draft& d) -> destination { return &d.model.reception.interrupt; }},
    machine_key{"coalescing", time,
                [](draft& d) -> destination { return &d.model.reception.coalescing; }},
    machine_key{"contention", time,
                [](draft& d) -> destination { return &d.model.reception.contention; }},
    machine_key{"retransmission", time,
                [](draft& d) -> destination { return &d.model.reception.retransmission; }},
    machine_key{"credits", count,
                [](draft& d) -> destination { return &d.model.reception.credits; }},
    machine_key{"queues_without_credit", truth,
                [](draft& d) -> destination { return &d.model.reception.queues_without_credit; }},
    machine_key{"own_processor", truth,
                [](draft& d) -> destination { return &d.model.reception.has_own_processor; }},
    machine_key{"big_lock", truth,
                [](draft& d) -> destination { return &d.model.reception.has_big_lock; }},
    machine_key{"enters_always", truth,
                [](draft& d) -> destination { return &d.model.reception.enters_always; }},
    machine_key{"acknowledges_puts", truth,
                [](draft& d) -> destination { return &d.model.acknowledges_puts; }},
};

constexpr std::array operation_keys{
    machine_key{"up_to", bytes, [](draft& d) -> destination { return &d.regime->up_to_bytes; }, 1},
    machine_key{"origin", time, [](draft& d) -> destination { return &d.regime->origin; }},
    machine_key{"origin", per_byte,
                [](draft& d) -> destination { return &d.regime->origin_per_byte; }},
    machine_key{"target", time, [](draft& d) -> destination { return &d.regime->target; }},
    machine_key{"target", per_byte,
                [](draft& d) -> destination { return &d.regime->target_per_byte; }},
    machine_key{"reply", time, [](draft& d) -> destination { return &d.regime->reply; }},
    machine_key{"reply", per_byte,
                [](draft& d) -> destination { return &d.regime->reply_per_byte; }},
    machine_key{"latency", time, [](draft& d) -> destination { return &d.regime->latency; }},
};

// What floors above the machine look up by name.
constexpr std::array coherence_keys{
    machine_key{"read_hit", time,
                [](draft& d) -> destination { return &d.model.extras["coherence.read_hit"].time; }},
    machine_key{
        "write_hit", time,
        [](draft& d) -> destination { return &d.model.extras["coherence.write_hit"].time; }},
    machine_key{
        "untouched_hit", time,
        [](draft& d) -> destination { return &d.model.extras["coherence.untouched_hit"].time; }},
    machine_key{"serve", time,
                [](draft& d) -> destination { return &d.model.extras["coherence.serve"].time; }},
    machine_key{
        "create_entry", time,
        [](draft& d) -> destination { return &d.model.extras["coherence.create_entry"].time; }},
    machine_key{
        "block_message", time,
        [](draft& d) -> destination { return &d.model.extras["coherence.block_message"].time; }},
    machine_key{
        "moved", per_byte,
        [](draft& d) -> destination { return &d.model.extras["coherence.moved"].per_byte; }},
};

constexpr std::array offload_keys{
    machine_key{"call", time,
                [](draft& d) -> destination { return &d.model.extras["offload.call"].time; }},
    machine_key{"call_with_arguments", time,
                [](draft& d) -> destination {
                    return &d.model.extras["offload.call_with_arguments"].time;
                }},
    machine_key{
        "synchronise", time,
        [](draft& d) -> destination { return &d.model.extras["offload.synchronise"].time; }},
    machine_key{
        "read_result", time,
        [](draft& d) -> destination { return &d.model.extras["offload.read_result"].time; }},
};

constexpr std::array tables{
    table_schema{"machine", "", machine_keys},
    table_schema{"clock", "", clock_keys},
    table_schema{"processor", "", processor_keys},
    table_schema{"master", "", processor_keys},
    table_schema{"memory", "", memory_keys},
    table_schema{"network", "", unknown_network_keys},
    table_schema{"network", "crossbar", crossbar_keys},
    table_schema{"network", "mesh", mesh_keys},
    table_schema{"network", "torus", torus_keys},
    table_schema{"network", "bus", bus_keys},
    table_schema{"node", "", node_keys},
    table_schema{"reception", "", reception_keys},
    table_schema{"coherence", "", coherence_keys, true},
    table_schema{"offload", "", offload_keys, true},
    table_schema{"program", "", {}, true},
    table_schema{"facts", "", {}, true},
    table_schema{"operations", "", operation_keys},
};

constexpr std::array<std::string_view, 6> operations{"put",    "get",        "atomic",
                                                     "signal", "put_signal", "active_message"};

/// By which a name differs that was meant to be another.
constexpr std::size_t few_letters = 2;

/// What follows `name` and an underscore in `key`; empty if nothing does.
std::string_view rest_behind(std::string_view key, std::string_view name) {
    const bool fits =
        key.size() > name.size() + 1 && key.starts_with(name) && key[name.size()] == '_';
    return fits ? key.substr(name.size() + 1) : std::string_view{};
}

/// "latency_TIME, gap_TIME, port_PER_BYTE (TIME: ps, ns, ...)".
std::string legal_keys(const table_schema& table) {
    std::vector<std::string> names;
    std::set<quantity> used;
    for (const machine_key& each : table.keys) {
        names.push_back(fmt::format("{}{}", each.name, placeholder_of(each.kind)));
        used.insert(each.kind);
    }
    std::vector<std::string> units;
    for (const quantity kind : used) {
        if (units_of(kind).empty()) continue;
        units.push_back(
            fmt::format("{}: {}", placeholder_of(kind).substr(1), fmt::join(units_of(kind), " ")));
    }
    return fmt::format("{}{}", fmt::join(names, ", "),
                       units.empty() ? "" : fmt::format(" ({})", fmt::join(units, "; ")));
}

/// Every way to write every key, to find the nearest.
std::vector<std::string> all_spellings(const table_schema& table) {
    std::vector<std::string> all;
    for (const machine_key& each : table.keys) {
        if (units_of(each.kind).empty()) all.emplace_back(each.name);
        for (const std::string_view unit : units_of(each.kind)) {
            all.push_back(fmt::format("{}_{}", each.name, unit));
        }
    }
    return all;
}

/// Other tables that have a key: " ([machine] has it)".
std::string where_else(std::string_view key) {
    std::vector<std::string> names;
    for (const table_schema& table : tables) {
        if (look_up(table, key).key == nullptr) continue;
        names.push_back(
            fmt::format("[{}]{}", table.path == "operations" ? "operations.CLASS" : table.path,
                        table.kind.empty() ? "" : fmt::format(" of kind {}", table.kind)));
    }
    if (names.empty()) return {};
    return fmt::format(" ({} {} it)", fmt::join(names, " and "),
                       names.size() == 1 ? "has" : "have");
}

[[noreturn]] void reject_unit(const table_schema& schema, std::string_view key,
                              std::string_view near, std::string_view place) {
    std::vector<std::string_view> units;  // of all keys of that name
    for (const machine_key& each : schema.keys) {
        if (each.name != near) continue;
        for (const std::string_view unit : units_of(each.kind)) units.push_back(unit);
    }
    reject(place, fmt::format("{} has no unit{}; {}_UNIT takes {}", key,
                              key == near ? "" : " that is known", near, fmt::join(units, ", ")));
}

}  // namespace

std::span<const table_schema> all_tables() { return tables; }
std::span<const std::string_view> operation_classes() { return operations; }

operation_costs& costs_of(machine_model& model, std::string_view operation) {
    if (operation == "put") return model.put;
    if (operation == "get") return model.get;
    if (operation == "atomic") return model.atomic;
    if (operation == "signal") return model.signal;
    if (operation == "put_signal") return model.put_signal;
    return model.active_message;
}

const statement* machine_draft::said(std::string_view what) const {
    const auto place = statements.find(what);
    return place == statements.end() ? nullptr : &place->second;
}

void machine_draft::reject_at(const std::vector<std::string_view>& what,
                              std::string_view mistake) const {
    const statement* last = nullptr;
    for (const std::string_view each : what) {
        const statement* const found = said(each);
        if (found != nullptr && (last == nullptr || found->speaker > last->speaker)) last = found;
    }
    reject(last != nullptr ? last->place : file, mistake);
}

std::string known_key::constant() const {
    return fmt::format("{}{}", name(), key != nullptr ? placeholder_of(key->kind) : "");
}

const table_schema* schema_of(std::string_view path, std::string_view network_kind) {
    constexpr std::string_view group = "operations.";
    if (path.starts_with(group)) {
        const bool is_known =
            std::ranges::find(operations, path.substr(group.size())) != operations.end();
        return is_known ? &tables.back() : nullptr;
    }
    for (const table_schema& table : tables) {
        const bool has_right_kind = path != "network" || table.kind == network_kind;
        if (table.path == path && has_right_kind) return &table;
    }
    return nullptr;
}

known_key look_up(const table_schema& table, std::string_view key) {
    known_key found;
    for (const machine_key& each : table.keys) {
        const auto units = units_of(each.kind);
        if (units.empty() && each.name == key) return {.key = &each};
        const std::string_view unit = rest_behind(key, each.name);
        if (std::ranges::find(units, unit) != units.end()) return {.key = &each, .unit = unit};
        if (!units.empty() && (!unit.empty() || each.name == key)) found.near = each.name;
    }
    if (!table.is_open || !found.near.empty()) return found;
    const measured_key other = split_by_unit(key);
    std::vector<std::string_view> names;
    for (const machine_key& each : table.keys) names.push_back(each.name);
    if (!base::nearest_name(other.name, names, few_letters).empty()) return found;
    return {.other = other, .unit = other.unit};
}

known_key expect_key(const table_schema& schema, std::string_view table, std::string_view key,
                     std::string_view place) {
    const known_key known = look_up(schema, key);
    if (known.is_legal()) return known;
    const std::vector<std::string> spellings = all_spellings(schema);
    const std::vector<std::string_view> views(spellings.begin(), spellings.end());
    const bool is_misspelt =
        key != known.near && !base::nearest_name(key, views, few_letters).empty();
    if (!known.near.empty() && !is_misspelt) reject_unit(schema, key, known.near, place);
    std::string hint = where_else(key);
    if (hint.empty()) hint = base::did_you_mean(key, views);
    reject(place,
           fmt::format("[{}]{} has no key {}{}; legal are {}{}", table,
                       schema.kind.empty() ? "" : fmt::format(" of kind {}", schema.kind), key,
                       hint, legal_keys(schema),
                       schema.is_open ? ", and names that are not so near to one of these" : ""));
}

}  // namespace selion::machine::sim
