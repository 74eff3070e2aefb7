// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/machine_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "base/nearest_name.hpp"

namespace selion::machine::sim {
namespace {

/// Beyond these a sum of costs might not fit into 64 bits: a million seconds, eight seconds each.
constexpr double most_ps = 1e18;
constexpr double most_ps_each = 8e12;

std::vector<std::string> table_names() {
    std::set<std::string> names;
    for (const table_schema& table : all_tables()) {
        if (table.path != "operations") names.emplace(table.path);
    }
    for (const std::string_view each : operation_classes()) {
        names.insert(fmt::format("operations.{}", each));
    }
    names.insert("options");
    return {names.begin(), names.end()};
}

/// Converts values of one document.
class table_reader {
public:
    explicit table_reader(const machine_document& document) : document_(document) {
        draft_.file = document.file;
    }

    machine_draft read() {
        read_clock();
        read_network_kind();
        for (const written_table& table : document_.tables) {
            if (table.path != "clock") read_table(table);
        }
        if (find("machine") == nullptr) draft_.reject_at({}, "[machine] with a name is missing");
        if (draft_.model.name.empty()) {
            draft_.reject_at({"machine.name", "machine"}, "[machine] needs a name");
        }
        if (find("node") != nullptr) draft_.model.node = draft_.node;
        set_kinds();
        check_ticks();
        check_expander();
        for (const std::string_view each : operation_classes()) check_regimes(each);
        return std::move(draft_);
    }

    void check_values() {
        read_network_kind();
        for (const written_table& table : document_.tables) {
            for (const written_value& value : table.values) {
                if (const auto kind = kind_of(table, value.key)) check_value(*kind, value);
            }
        }
    }

private:
    /// Nothing of keys that are not there: `read` says so.
    std::optional<quantity> kind_of(const written_table& table, std::string_view key) const {
        const known_key known = look_up(*schema_of(table.path, draft_.network_kind), key);
        return known.is_legal() ? std::optional(known.kind()) : std::nullopt;
    }

    /// What keys the network may have depends on it.
    void read_network_kind() {
        const written_table* const network = find("network");
        if (network == nullptr) return;
        const written_value* const kind = network->find("kind");
        if (kind == nullptr) {
            reject(network->place, "[network] has no kind; it can be crossbar, mesh, torus or bus");
        }
        const known_key known =
            expect_key(*schema_of("network", ""), "network", "kind", kind->place);
        check_value(known.kind(), *kind);
        store(known, *kind);
    }

    const written_table* find(std::string_view path) const {
        const auto place = std::ranges::find(document_.tables, path, &written_table::path);
        return place == document_.tables.end() ? nullptr : &*place;
    }

    /// Before everything else: other tables count in cycles.
    void read_clock() {
        const written_table* const clock = find("clock");
        if (clock == nullptr) return;
        read_table(*clock);
        base_.frequency_hz = draft_.frequency_hz;
        constexpr double picoseconds_per_second = 1e12;
        const double most_hz = picoseconds_per_second / (draft_.tick == "half_cycle" ? 2 : 1);
        if (base_.frequency_hz > most_hz) reject_frequency(*clock, most_hz);
        if (base_.frequency_hz != 0) {
            draft_.model.cycle_ticks = picoseconds_per_second / base_.frequency_hz;
        }
        if (draft_.tick.empty() || draft_.tick == "picosecond") return;
        if (base_.frequency_hz == 0) {
            reject(clock->place, fmt::format("a tick of a {} needs a frequency", draft_.tick));
        }
        const bool is_half = draft_.tick == "half_cycle";
        const auto hertz = static_cast<std::int64_t>(std::llround(base_.frequency_hz));
        const std::int64_t ticks_per_second = is_half ? 2 * hertz : hertz;
        constexpr std::int64_t ps_per_second = 1'000'000'000'000;
        const std::int64_t common = std::gcd(ps_per_second, ticks_per_second);
        base_.tick = {ps_per_second / common, ticks_per_second / common};
        draft_.model.tick = base_.tick;
        draft_.model.cycle_ticks = is_half ? 2 : 1;
    }

    [[noreturn]] static void reject_frequency(const written_table& clock, double most_hz) {
        const auto place = std::ranges::find_if(clock.values, [](const written_value& each) {
            return each.key.starts_with("frequency");
        });
        reject(place->place,
               fmt::format("{} = {} is too high; a frequency is at most {:g} Hz here, so that a "
                           "tick is at least a picosecond",
                           place->key, place->text, most_hz));
    }

    void set_kinds() {
        machine_model& model = draft_.model;
        const std::string& network = draft_.network_kind;
        model.network = network == "crossbar" ? network_kind::crossbar
                        : network == "mesh"   ? network_kind::mesh
                        : network == "torus"  ? network_kind::torus
                        : network == "bus"    ? network_kind::bus
                                              : network_kind::none;
        if (draft_.granularity == "messages") {
            model.mesh.granularity = mesh_granularity::messages;
        }
        const std::string& reception = draft_.reception_kind;
        model.reception.kind = reception == "polling"     ? reception_kind::polling
                               : reception == "interrupt" ? reception_kind::interrupt
                                                          : reception_kind::hardware;
    }

    void read_table(const written_table& table) {
        draft_.statements.emplace(table.name(), statement{table.place, said_by::file});
        const table_schema& schema = *schema_of(table.path, draft_.network_kind);
        if (table.path == "processor") draft_.processor = &draft_.model.processor;
        if (table.path == "master") draft_.processor = &draft_.model.master.emplace();
        if (schema.path == "operations") {
            const std::string_view operation =
                std::string_view(table.path).substr(schema.path.size() + 1);
            draft_.regime = &costs_of(draft_.model, operation).regimes.emplace_back();
        }
        std::set<std::string> seen;
        for (const written_value& value : table.values) {
            const known_key known = expect_key(schema, table.name(), value.key, value.place);
            check_value(known.kind(), value);
            if (!seen.insert(known.constant()).second) {
                reject(value.place,
                       fmt::format("{} is given twice in [{}]", known.name(), table.name()));
            }
            if (known.other) {
                store_other(table.path, *known.other, value);
            } else {
                store(known, value);
            }
            draft_.statements.emplace(fmt::format("{}.{}", table.name(), known.constant()),
                                      statement{value.place, value.speaker});
            note(table, value, known.unit);
        }
    }

    void note(const written_table& table, const written_value& value, std::string_view unit) {
        if (value.source.empty()) return;
        draft_.model.constants.push_back({.key = fmt::format("{}.{}", table.name(), value.key),
                                          .value = value.text,
                                          .unit = std::string(unit),
                                          .source = value.source});
    }

    void store_other(const std::string& table, const measured_key& key,
                     const written_value& value) {
        extra_constant& constant = draft_.model.extras[fmt::format("{}.{}", table, key.name)];
        if (key.kind == quantity::time) {
            constant.time = to_ticks(key.kind, key.unit, value);
        } else if (key.kind == quantity::per_byte) {
            constant.per_byte = to_rate(key.kind, key.unit, value);
        } else {
            constant.number = number_of(value) * scale_of(key.kind, key.unit);
        }
    }

    void store(const known_key& known, const written_value& value) {
        const machine_key& key = *known.key;
        const destination place = key.place(draft_);
        if (auto* const* const to = std::get_if<ticks*>(&place)) {
            **to = to_ticks(key.kind, known.unit, value);
        } else if (auto* const* const rates = std::get_if<rate*>(&place)) {
            **rates = to_rate(key.kind, known.unit, value);
        } else if (auto* const* const narrow = std::get_if<std::uint32_t*>(&place)) {
            **narrow = static_cast<std::uint32_t>(
                to_whole(key, known.unit, value, std::numeric_limits<std::uint32_t>::max()));
        } else if (auto* const* const wide = std::get_if<std::uint64_t*>(&place)) {
            **wide = to_whole(key, known.unit, value, std::uint64_t{1} << 62);
        } else if (auto* const* const number = std::get_if<double*>(&place)) {
            **number = number_of(value, key.least) * scale_of(key.kind, known.unit);
            check_least(key, **number, value);
        } else if (auto* const* const flag = std::get_if<bool*>(&place)) {
            **flag = std::get<bool>(value.value);
        } else if (auto* const* const word = std::get_if<std::string*>(&place)) {
            **word = to_word(key, value);
        } else {
            *std::get<std::vector<std::uint32_t>*>(place) = to_list(value);
        }
    }

    /// @pre `check_value` has said that it is one.
    static double number_of(const written_value& value, std::uint64_t least = 0) {
        const auto* const whole = std::get_if<std::int64_t>(&value.value);
        const double number =
            whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value.value);
        if (!std::isfinite(number) || number < 0) {
            reject(value.place, fmt::format("{} = {} must be {}, and finite", value.key, value.text,
                                            least == 0 ? "0 or more" : "greater than 0"));
        }
        return number;
    }

    double measured(quantity kind, std::string_view unit, const written_value& value,
                    double limit_ps) const {
        const double amount = number_of(value);
        if (time_base::counts_cycles(unit) && base_.frequency_hz == 0) {
            reject(value.place,
                   fmt::format("{} counts cycles, but [clock] has no frequency", value.key));
        }
        if (is_speed(unit) && amount == 0) {
            reject(value.place,
                   fmt::format("{} is a speed, and must be greater than 0", value.key));
        }
        const double result = in_ticks(kind, amount, unit, base_);
        if (!(result <= limit_ps / base_.tick.in_ps())) {
            reject(
                value.place,
                fmt::format("{} = {} is too long; {} at most {:g} s", value.key, value.text,
                            kind == quantity::time ? "a time is" : "a byte or an operation takes",
                            limit_ps * 1e-12));
        }
        return result;
    }

    ticks to_ticks(quantity kind, std::string_view unit, const written_value& value) const {
        return static_cast<ticks>(std::llround(measured(kind, unit, value, most_ps)));
    }

    rate to_rate(quantity kind, std::string_view unit, const written_value& value) const {
        return rate::from_ticks(measured(kind, unit, value, most_ps_each));
    }

    static void check_least(const machine_key& key, double number, const written_value& value) {
        if (number < static_cast<double>(key.least)) {
            reject(value.place,
                   fmt::format("{} = {} must be at least {}", value.key, value.text, key.least));
        }
    }

    static std::uint64_t to_whole(const machine_key& key, std::string_view unit,
                                  const written_value& value, std::uint64_t most) {
        const double number = number_of(value, key.least) * scale_of(key.kind, unit);
        if (number != std::floor(number) || number > static_cast<double>(most)) {
            // The limit in the unit of the key.
            const auto scale = static_cast<std::uint64_t>(scale_of(key.kind, unit));
            reject(value.place,
                   fmt::format("{} = {} must be a whole number{}, at most {}", value.key,
                               value.text, scale > 1 ? " of bytes" : "", most / scale));
        }
        check_least(key, number, value);
        return static_cast<std::uint64_t>(number);
    }

    static std::string to_word(const machine_key& key, const written_value& value) {
        const auto& word = std::get<std::string>(value.value);
        const std::string all = fmt::format(",{},", key.words);
        if (!key.words.empty() && all.find(fmt::format(",{},", word)) == std::string::npos) {
            reject(value.place, fmt::format("{} = {} must be one of {}", value.key, word,
                                            fmt::join(split(key.words), ", ")));
        }
        return word;
    }

    static std::vector<std::string_view> split(std::string_view words) {
        std::vector<std::string_view> all;
        for (std::size_t start = 0; start <= words.size();) {
            const std::size_t end = std::min(words.find(',', start), words.size());
            all.push_back(words.substr(start, end - start));
            start = end + 1;
        }
        return all;
    }

    static std::vector<std::uint32_t> to_list(const written_value& value) {
        std::vector<std::uint32_t> numbers;
        for (const std::int64_t each : std::get<std::vector<std::int64_t>>(value.value)) {
            if (each < 1 || each > (1 << 20)) {
                reject(value.place, fmt::format("each number of {} = {} must be 1 to {}", value.key,
                                                value.text, 1 << 20));
            }
            numbers.push_back(static_cast<std::uint32_t>(each));
        }
        if (numbers.empty()) reject(value.place, fmt::format("{} is empty", value.key));
        return numbers;
    }

    /// What must take time at all.
    void check_ticks() const {
        const machine_model& model = draft_.model;
        // Somebody who looks again and again must see time pass.
        require_ticks("processor", "poll", model.processor.poll);
        if (model.master) require_ticks("master", "poll", model.master->poll);
        if (model.network != network_kind::mesh) return;
        // A mesh goes on from tick to tick.
        require_ticks("network", "entry", model.mesh.entry);
        require_ticks("network", "hop", model.mesh.hop);
        require_ticks("network", "slot", model.mesh.slot);
    }

    void require_ticks(std::string_view table, std::string_view key, ticks amount) const {
        if (amount != 0) return;
        draft_.reject_at({fmt::format("{}.{}_TIME", table, key), table},
                         fmt::format("[{}] {} must be at least a tick", table, key));
    }

    /// A byte through an expander box takes both.
    void check_expander() const {
        const bus_model& bus = draft_.model.bus;
        const wide slowest = std::max(bus.write_per_byte.scaled, bus.read_per_byte.scaled);
        if (slowest + bus.expander_per_byte.scaled <= INT64_MAX) return;
        draft_.reject_at({"network.expander_PER_BYTE"},
                         "[network] write or read, and expander, are too long together: a byte "
                         "takes at most eight seconds");
    }

    void check_regimes(std::string_view operation) {
        const auto& regimes = costs_of(draft_.model, operation).regimes;
        for (std::size_t i = 1; i < regimes.size(); ++i) {
            if (regimes[i].up_to_bytes > regimes[i - 1].up_to_bytes) continue;
            // The one before says nothing, or this one too little.
            const bool is_open = regimes[i - 1].up_to_bytes == UINT64_MAX;
            const std::string table =
                fmt::format("operations.{}.{}", operation, is_open ? i : i + 1);
            draft_.reject_at(
                {table + ".up_to_SIZE", table},
                fmt::format("each [[operations.{}]] must say up_to_SIZE, more than the "
                            "one before; only the last may leave it out",
                            operation));
        }
    }

    const machine_document& document_;
    machine_draft draft_;
    time_base base_;
};

}  // namespace

void check_tables(const machine_document& document) {
    for (const written_table& table : document.tables) {
        if (schema_of(table.path, "") == nullptr) {
            const std::vector<std::string> names = table_names();
            reject(table.place,
                   fmt::format("a machine file has no table [{}]{}; legal are {}", table.path,
                               base::did_you_mean(table.path, names), fmt::join(names, ", ")));
        }
    }
    // Before options, which are looked up in the kind of network and hide values of the file.
    table_reader(document).check_values();
}

void check_value(quantity kind, const written_value& value) {
    const bool is_word = std::holds_alternative<std::string>(value.value);
    bool fits = std::holds_alternative<std::int64_t>(value.value) ||
                std::holds_alternative<double>(value.value);
    std::string_view wanted = "a number";
    if (kind == quantity::word) {
        fits = is_word;
        wanted = "a word";
    } else if (kind == quantity::truth) {
        fits = std::holds_alternative<bool>(value.value);
        wanted = "true or false";
    } else if (kind == quantity::list) {
        fits = std::holds_alternative<std::vector<std::int64_t>>(value.value);
        wanted = "a list of whole numbers";
    }
    if (!fits) {
        reject(value.place, fmt::format("{} must be {}, not {} ({})", value.key, wanted, value.text,
                                        type_of(value.value)));
    }
    if (!is_word && value.source.empty()) {
        reject(value.place,
               fmt::format("{} has no source; write {} = {{ value = {}, source = \"given: ...\" "
                           "}}, or a source for the whole table",
                           value.key, value.key, value.text));
    }
}

machine_draft read_tables(const machine_document& document) {
    return table_reader(document).read();
}

}  // namespace selion::machine::sim
