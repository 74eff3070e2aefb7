// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/machine_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <compare>
#include <iterator>
#include <map>
#include <optional>
#include <set>

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

/// What a key with its table means in a document. Its views are into the key.
struct found_key {
    std::string_view table;
    std::string_view key;
    const table_schema* schema = nullptr;
    known_key known;

    /// The constant whatever its unit.
    std::string constant() const { return fmt::format("{}.{}", table, known.constant()); }
    /// The same for sentences.
    std::string name() const { return fmt::format("{}.{}", table, known.name()); }
};

/// A table that has a meaning also where a file leaves it out: it is as another one.
struct derived_table {
    std::string_view path;
    std::string_view from;
};
constexpr std::array derived_tables{derived_table{"master", "processor"},
                                    derived_table{"operations.put_signal", "operations.put"}};
/// Without them there is nothing of the kind; with one key, all others would be free.
constexpr std::array<std::string_view, 2> whole_tables{"network", "node"};

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
        for (const written_option& each : short_keys_) {
            const auto asked = options.find(each.name);
            const bool is_asked = asked != options.end();
            notes.push_back({.key = each.name, .choices = {}, .target = each.target, .value = {}});
            if (each.choices.empty()) {
                if (is_asked) plan({each.target, asked->first, asked->second});
                continue;
            }
            const std::string& choice = is_asked ? asked->second : each.default_choice;
            choose(each, choice, is_asked);
            notes.back().value = choice;
            for (const auto& legal : each.choices) notes.back().choices.push_back(legal.name);
        }
        for (const auto& [key, text] : options) {
            if (is_short(key)) continue;
            if (key.find('.') == std::string::npos) reject_unknown(key, text);
            plan({key, key, text});
        }
        std::ranges::stable_sort(planned_, {}, &planned_value::turn);
        for (const planned_value& each : planned_) put(each);
        return notes;
    }

private:
    /// When a value is put. What a table begins as a copy of is set before; keys of a spec go
    /// before words; one of several tables of a path goes before all of them together.
    struct putting_turn {
        bool is_derived = false;
        said_by speaker = said_by::file;
        bool is_of_one = false;
        auto operator<=>(const putting_turn&) const = default;
    };
    struct planned_value {
        found_key found;
        written_value value;
        putting_turn turn;
    };

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
            std::set<std::string> seen;
            for (const written_value& change : choice.changes) {
                const found_key found = understand(change.key, change.place);
                check_value(found.known.kind(), change);
                if (seen.insert(found.constant()).second) continue;
                reject(change.place, fmt::format("{} is given twice in [options.{}.{}]",
                                                 found.name(), option.name, choice.name));
            }
        }
    }

    /// What the file says, or an option that has been planned.
    std::string_view network_kind() const {
        if (!planned_kind_.empty()) return planned_kind_;
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

    void choose(const written_option& option, const std::string& name, bool is_asked) {
        const auto choice = std::ranges::find(option.choices, name, &written_choice::name);
        if (choice == option.choices.end()) {
            std::vector<std::string> names;
            for (const auto& each : option.choices) names.push_back(each.name);
            reject(place_of(option.name, name),
                   fmt::format("legal values are {}", fmt::join(names, ", ")));
        }
        const std::string word = fmt::format("{}={}", option.name, name);
        for (const written_value& change : choice->changes) {
            const found_key found = understand(change.key, change.place);
            const auto [earlier, is_first] = chosen_by_.emplace(found.constant(), word);
            if (!is_first) {
                reject(is_asked ? place_of(option.name, name) : option.place,
                       fmt::format("{} and {} both set {}; options that go together set different "
                                   "constants",
                                   earlier->second, word, found.name()));
            }
            written_value value = change;
            value.speaker = said_by::choice;
            plan(found, std::move(value));
        }
    }

    void plan(const asked_key& asked) {
        const auto& [dotted, option, text] = asked;
        const std::string place = place_of(option, text);
        const found_key found = understand(dotted, place);
        const auto [earlier, is_first] = set_by_.emplace(found.constant(), option);
        if (!is_first) {
            reject(place, fmt::format("{} and {} both set {}; give one of them", earlier->second,
                                      option, found.name()));
        }
        plan(found, {.key = {},
                     .value = value_from(text, found.known.kind(), place),
                     .text = std::string(text),
                     .source = fmt::format("assumed because the spec says {}={}", option, text),
                     .place = place,
                     .speaker = said_by::spec});
    }

    void plan(const found_key& found, written_value value) {
        value.key = found.key;
        const bool is_derived =
            derived_from(found.table) != nullptr && find_table(found.table) == nullptr;
        const putting_turn when{is_derived, value.speaker, path_of(found.table) != found.table};
        if (found.table == "network" && found.key == "kind") planned_kind_ = value.text;
        planned_.push_back({found, std::move(value), when});
    }

    /// Understands a key with its table; does not change the document.
    found_key understand(std::string_view dotted, const std::string& place) const {
        const std::size_t dot = dotted.rfind('.');
        if (dot == std::string_view::npos) {
            reject(place,
                   fmt::format("{} must be a key with its table: network.latency_us", dotted));
        }
        found_key found{.table = dotted.substr(0, dot), .key = dotted.substr(dot + 1), .known = {}};
        found.schema = schema_of(path_of(found.table), network_kind());
        if (found.schema == nullptr) reject_table(found.table, place);
        found.known = expect_key(*found.schema, found.table, found.key, place);
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

    static const derived_table* derived_from(std::string_view path) {
        const auto place = std::ranges::find(derived_tables, path, &derived_table::path);
        return place == derived_tables.end() ? nullptr : &*place;
    }

    /// The tables of that name; new ones if the file leaves them out.
    std::vector<written_table*> tables_of(const planned_value& planned) {
        const std::string_view path = planned.found.table;
        const auto find_all = [&] {
            std::vector<written_table*> tables;
            for (written_table& each : document_.tables) {
                if (each.path == path || each.name() == path) tables.push_back(&each);
            }
            return tables;
        };
        if (const auto tables = find_all(); !tables.empty()) return tables;
        const bool is_whole = std::ranges::find(whole_tables, path) != whole_tables.end();
        if (is_whole && planned.value.speaker == said_by::spec) {
            reject(planned.value.place,
                   fmt::format("{} has no [{}], and with this key alone all else in it would be "
                               "free; write the table into a file",
                               document_.file, path));
        }
        if (const derived_table* const derived = derived_from(path)) copy_tables(*derived);
        if (find_table(path) == nullptr) {
            document_.tables.push_back({.path = std::string(path),
                                        .index = 0,
                                        .place = planned.value.place,
                                        .values = {}});
        }
        return find_all();
    }

    void copy_tables(const derived_table& derived) {
        std::vector<written_table> copies;
        for (const written_table& each : document_.tables) {
            if (each.path != derived.from) continue;
            copies.push_back(each);
            copies.back().path = derived.path;
        }
        std::ranges::move(copies, std::back_inserter(document_.tables));
    }

    /// The same constant may stand there in another unit: it goes.
    void put(const planned_value& planned) {
        const found_key& found = planned.found;
        for (written_table* const table : tables_of(planned)) {
            std::erase_if(table->values, [&](const written_value& old) {
                const known_key known = look_up(*found.schema, old.key);
                return known.is_legal() && known.constant() == found.known.constant();
            });
            table->values.push_back(planned.value);
        }
    }

    machine_document& document_;
    std::vector<written_option> short_keys_;
    std::vector<planned_value> planned_;
    std::string planned_kind_;  ///< of the network; empty: as the file says
    // Constants, and what has set them.
    std::map<std::string, std::string> chosen_by_;  ///< a word: "wire=glass"
    std::map<std::string, std::string> set_by_;     ///< an option of the spec
};

}  // namespace

std::vector<option_note> apply_options(machine_document& document, const option_map& options) {
    return option_applier(document).apply(options);
}

}  // namespace selion::machine::sim
