// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "machine/sim/description/machine_document.hpp"
#include "machine/sim/description/machine_units.hpp"
#include "machine/sim/model/machine_model.hpp"

/// Which tables and keys a machine file can have. The page docs/reference/machine-files.md explains
/// them; a test holds page and schema together.
namespace selion::machine::sim {

/// Where a key or a table stands, and who says so.
struct statement {
    std::string place;
    said_by speaker = said_by::file;
};

/// A machine while its file is read: the model, and what the model does not keep. 0 and empty: not
/// said.
struct machine_draft {
    machine_model model;
    std::string file;
    /// All tables, "network", and keys as the page spells them, "network.latency_TIME".
    std::map<std::string, statement, std::less<>> statements;
    double frequency_hz = 0;
    std::string tick;
    std::string network_kind;
    std::string granularity;
    std::string reception_kind;
    std::uint32_t ranks = 0;
    std::uint32_t most_ranks = 0;
    std::uint32_t nodes = 0;
    std::uint32_t processes = 0;  ///< of a node
    std::uint32_t threads = 0;    ///< of a process
    std::uint32_t boards = 1;
    std::uint32_t most_boards = 0;
    node_model node;
    processor_costs* processor = nullptr;  ///< that the table at hand describes
    operation_regime* regime = nullptr;    ///< likewise

    /// Null: nobody says it.
    const statement* said(std::string_view what) const;
    /// Rejects with the place of that key or table which has been said last, of several the first;
    /// with the file if none is there.
    [[noreturn]] void reject_at(const std::vector<std::string_view>& what,
                                std::string_view mistake) const;
};

/// Where a key's value goes.
using destination = std::variant<ticks*, rate*, std::uint32_t*, std::uint64_t*, bool*, double*,
                                 std::string*, std::vector<std::uint32_t>*>;

struct machine_key {
    std::string_view name;  ///< without its unit
    quantity kind;
    destination (*place)(machine_draft&);
    std::uint64_t least = 0;   ///< of counts and sizes
    std::string_view words{};  ///< legal ones, with commas between; empty: any
};

/// The keys of one kind of table.
struct table_schema {
    std::string_view path;  ///< "network"; "operations" for all classes of operations
    std::string_view kind;  ///< "mesh": the network whose keys these are; else empty
    std::span<const machine_key> keys;
    /// Other names are legal too, with any unit or with none, unless one is that of a key with
    /// another unit or all but the same.
    bool is_open = false;
};

std::span<const table_schema> all_tables();

/// Classes of operations: "put".
std::span<const std::string_view> operation_classes();
operation_costs& costs_of(machine_model& model, std::string_view operation);

/// The schema of a table, or null. @param network_kind chooses among the networks.
const table_schema* schema_of(std::string_view path, std::string_view network_kind);

/// A key of a file, understood.
struct known_key {
    const machine_key* key = nullptr;     ///< null: not in the schema
    std::optional<measured_key> other{};  ///< a legal name that is not in the schema
    std::string_view unit{};
    std::string_view near{};  ///< a key that fits but for its unit; empty if none does

    bool is_legal() const { return key != nullptr || other; }
    /// @pre is_legal()
    quantity kind() const { return key != nullptr ? key->kind : other->kind; }
    std::string_view name() const { return key != nullptr ? key->name : other->name; }
    /// The constant whatever its unit, as the page spells it: "port_PER_BYTE".
    std::string constant() const;
};
known_key look_up(const table_schema& table, std::string_view key);

/// `look_up`, of a key that must be there.
/// @param table as sentences name it: "network", "operations.put.2".
/// @error bad_argument (thrown) names what is near and what is legal.
known_key expect_key(const table_schema& schema, std::string_view table, std::string_view key,
                     std::string_view place);

}  // namespace selion::machine::sim
