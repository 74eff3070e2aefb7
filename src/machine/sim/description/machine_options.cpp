// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/machine_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "base/knobs.hpp"
#include "base/nearest_name.hpp"
#include "machine/sim/description/machine_reader.hpp"
#include "machine/sim/description/machine_schema.hpp"
#include "machine/sim/description/run_setting.hpp"

namespace selion::machine::sim {
namespace {

/// A number without anything behind it.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const char* const last = text.data() + text.size();
    const auto [end, trouble] = std::from_chars(text.data(), last, number);
    if (text.empty() || trouble != std::errc{} || end != last) return std::nullopt;
    return number;
}

plain_value list_from(std::string_view text, std::string_view place) {
    std::vector<std::int64_t> numbers;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find('x', start), text.size());
        const auto number = number_in<std::int64_t>(text.substr(start, end - start));
        if (!number) reject(place, "a list is whole numbers with x between them: 8x8x16");
        numbers.push_back(*number);
        start = end + 1;
    }
    return numbers;
}

plain_value value_from(std::string_view text, quantity kind, std::string_view place) {
    if (kind == quantity::word) return std::string(text);
    if (kind == quantity::list) return list_from(text, place);
    if (kind == quantity::truth) {
        if (const auto is_on = base::switch_value(text)) return *is_on;
        reject(place, "legal values are on and off");
    }
    if (const auto whole = number_in<std::int64_t>(text)) return *whole;
    if (const auto number = number_in<double>(text)) return *number;
    reject(place, "this is not a number");
}

/// What a key with its table means in a document.
struct found_key {
    std::string table;
    std::string key;
    quantity kind = quantity::factor;
    const table_schema* schema = nullptr;  ///< null: a free table
    const machine_key* known = nullptr;
};

class option_applier {
public:
    explicit option_applier(machine_document& document) : document_(document) {
        for (const written_option& each : document.options) {
            short_keys_.push_back(each);
            check(each);
        }
        add_natural_options();
    }

    std::vector<option_note> apply(const option_map& options) {
        std::vector<option_note> notes;
        std::vector<asked_key> asked_keys;
        for (const written_option& each : short_keys_) {
            const auto asked = options.find(each.name);
            const bool is_asked = asked != options.end();
            notes.push_back({.key = each.name, .choices = {}, .target = each.target, .value = {}});
            if (each.choices.empty()) {
                if (is_asked) asked_keys.push_back({each.target, asked->first, asked->second});
                continue;
            }
            const std::string& choice = is_asked ? asked->second : each.default_choice;
            choose(each, choice);
            notes.back().value = choice;
            for (const auto& legal : each.choices) notes.back().choices.push_back(legal.name);
        }
        for (const auto& [key, text] : options) {
            if (is_short(key)) continue;
            if (key.find('.') == std::string::npos) reject_unknown(key, text);
            asked_keys.push_back({key, key, text});
        }
        // One of several tables of a path is set after all of them together.
        std::ranges::stable_partition(asked_keys, [&](const asked_key& each) {
            const std::string_view table = each.dotted.substr(0, each.dotted.rfind('.'));
            return path_of(table) == table;
        });
        for (const asked_key& each : asked_keys) set_from_text(each);
        return notes;
    }

private:
    /// A key that the user sets.
    struct asked_key {
        std::string_view dotted;
        std::string_view option;  ///< how the user named it
        std::string_view text;
    };

    /// What the file declares must be there, also when no option uses it.
    void check(const written_option& option) const {
        for (const auto& [taken, form] : run_setting_forms()) {
            if (taken == option.name) {
                reject(option.place, fmt::format("option {} needs another name: {}={} belongs to "
                                                 "every run",
                                                 option.name, taken, form));
            }
        }
        const bool is_plain = std::ranges::all_of(option.name, [](unsigned char each) {
            return std::isalnum(each) != 0 || each == '_' || each == '-';
        });
        if (!is_plain || option.name.empty()) {
            reject(option.place,
                   fmt::format("option \"{}\" needs another name, of letters, digits, "
                               "_ and - alone",
                               option.name));
        }
        if (option.choices.empty()) understand(option.target, option.place);
        for (const written_choice& choice : option.choices) {
            for (const written_value& change : choice.changes) {
                check_value(understand(change.key, change.place).kind, change);
            }
        }
    }

    std::string_view network_kind() const {
        const written_table* const network = find_table("network");
        const written_value* const kind = network ? network->find("kind") : nullptr;
        const auto* const word = kind ? std::get_if<std::string>(&kind->value) : nullptr;
        return word ? std::string_view(*word) : std::string_view{};
    }

    const written_table* find_table(std::string_view name) const {
        const auto place = std::ranges::find(document_.tables, name, &written_table::path);
        return place == document_.tables.end() ? nullptr : &*place;
    }

    /// Short keys that need no declaration, because every machine of the kind has them.
    void add_natural_options() {
        const std::string_view kind = network_kind();
        const bool has_node = find_table("node") != nullptr;
        add_natural("ranks", "machine.ranks");
        if (kind == "mesh") {
            add_natural("rows", "network.rows");
            add_natural("columns", "network.columns");
            add_natural("granularity", "network.granularity");
        }
        if (kind == "bus") add_natural("boards", "network.boards");
        if (has_node) {
            add_natural("processes", "machine.processes");
            add_natural("threads", "machine.threads");
        }
        if (kind == "torus" || (has_node && !kind.empty())) {
            add_natural("nodes", "machine.nodes");
        }
    }

    void add_natural(std::string name, std::string target) {
        const auto declared = std::ranges::find(short_keys_, name, &written_option::name);
        if (declared != short_keys_.end()) {
            if (declared->target == target) return;
            reject(declared->place, fmt::format("option {} needs another name: {}= stands for {} "
                                                "on every machine like this",
                                                name, name, target));
        }
        short_keys_.push_back({.name = std::move(name),
                               .target = std::move(target),
                               .choices = {},
                               .default_choice = {},
                               .place = {}});
    }

    bool is_short(std::string_view name) const {
        return std::ranges::any_of(short_keys_,
                                   [&](const written_option& each) { return each.name == name; });
    }

    [[noreturn]] void reject_unknown(std::string_view key, std::string_view text) const {
        std::vector<std::string> names;
        for (const written_option& each : short_keys_) names.push_back(each.name);
        reject(place_of(key, text),
               fmt::format("there is no such option{}; legal are {}, and any key of the file with "
                           "its table, such as processor.flop_ns",
                           base::did_you_mean(key, names), fmt::join(names, ", ")));
    }

    std::string place_of(std::string_view key, std::string_view text) const {
        return fmt::format("{}, option {}={}", document_.file, key, text);
    }

    void choose(const written_option& option, const std::string& name) {
        const auto choice = std::ranges::find(option.choices, name, &written_choice::name);
        if (choice == option.choices.end()) {
            std::vector<std::string> names;
            for (const auto& each : option.choices) names.push_back(each.name);
            reject(place_of(option.name, name),
                   fmt::format("legal values are {}", fmt::join(names, ", ")));
        }
        for (const written_value& change : choice->changes) {
            const found_key found = understand(change.key, change.place);
            written_value value = change;
            value.key = found.key;
            put(found, value);
        }
    }

    void set_from_text(const asked_key& asked) {
        const auto& [dotted, option, text] = asked;
        const std::string place = place_of(option, text);
        const found_key found = understand(dotted, place);
        const std::string_view constant =
            found.known != nullptr ? found.known->name : split_by_unit(found.key).name;
        const auto [earlier, is_first] =
            set_by_.emplace(fmt::format("{}.{}", found.table, constant), option);
        if (!is_first) {
            reject(place, fmt::format("{} and {} both set {}; give one of them", earlier->second,
                                      option, earlier->first));
        }
        put(found, {.key = found.key,
                    .value = value_from(text, found.kind, place),
                    .text = std::string(text),
                    .source = fmt::format("assumed because the spec says {}={}", option, text),
                    .place = place});
    }

    /// Understands a key with its table; does not change the document.
    found_key understand(std::string_view dotted, const std::string& place) const {
        const std::size_t dot = dotted.rfind('.');
        if (dot == std::string_view::npos) {
            reject(place,
                   fmt::format("{} must be a key with its table: network.latency_us", dotted));
        }
        found_key found{.table = std::string(dotted.substr(0, dot)),
                        .key = std::string(dotted.substr(dot + 1))};
        if (std::ranges::find(free_tables(), found.table) != free_tables().end()) {
            found.kind = split_by_unit(found.key).kind;
            return found;
        }
        found.schema = schema_of(path_of(found.table), network_kind());
        if (found.schema == nullptr) reject_table(found.table, place);
        const known_key known = look_up(*found.schema, found.key);
        if (known.key == nullptr) {
            reject(place, fmt::format("[{}] has no key {}{}; legal are {}", found.table, found.key,
                                      base::did_you_mean(found.key, all_spellings(*found.schema)),
                                      legal_keys(*found.schema)));
        }
        found.known = known.key;
        found.kind = known.key->kind;
        return found;
    }

    /// "operations.put" of "operations.put.2", if there is such a table.
    std::string_view path_of(std::string_view table) const {
        for (const written_table& each : document_.tables) {
            if (each.name() == table) return each.path;
        }
        return table;
    }

    [[noreturn]] void reject_table(std::string_view name, const std::string& place) const {
        std::vector<std::string> names;
        for (const written_table& each : document_.tables) names.push_back(each.name());
        reject(place, fmt::format("there is no table [{}]{}; the file has {}", name,
                                  base::did_you_mean(name, names), fmt::join(names, ", ")));
    }

    /// The tables of that name; a new one if the file leaves it out.
    std::vector<written_table*> tables_of(const found_key& found, const std::string& place) {
        std::vector<written_table*> tables;
        for (written_table& each : document_.tables) {
            if (each.path == found.table || each.name() == found.table) tables.push_back(&each);
        }
        if (tables.empty()) {
            document_.tables.push_back(
                {.path = found.table, .index = 0, .place = place, .values = {}});
            tables.push_back(&document_.tables.back());
        }
        return tables;
    }

    /// The same constant may stand there in another unit: it goes.
    void put(const found_key& found, const written_value& value) {
        for (written_table* const table : tables_of(found, value.place)) {
            std::erase_if(table->values, [&](const written_value& old) {
                if (found.schema != nullptr) {
                    return look_up(*found.schema, old.key).key == found.known;
                }
                return split_by_unit(old.key).name == split_by_unit(found.key).name;
            });
            table->values.push_back(value);
        }
    }

    machine_document& document_;
    std::vector<written_option> short_keys_;
    std::map<std::string, std::string> set_by_;  ///< constants, and the options that have set them
};

}  // namespace

std::vector<option_note> apply_options(machine_document& document, const option_map& options) {
    return option_applier(document).apply(options);
}

}  // namespace selion::machine::sim
