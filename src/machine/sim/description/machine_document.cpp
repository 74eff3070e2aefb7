// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/description/machine_document.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <tuple>

namespace selion::machine::sim {
namespace {

constexpr std::array<std::string_view, 3> source_beginnings{"given", "fitted on",
                                                            "assumed because"};

/// A key of a table with its value, where it stands in the file.
struct named_node {
    std::string_view key;
    const toml::node* node;
    toml::source_position at;
};

/// TOML's tables have no order; people's do.
std::vector<named_node> in_file_order(const toml::table& table) {
    std::vector<named_node> all;
    for (const auto& [key, node] : table) all.push_back({key.str(), &node, key.source().begin});
    std::ranges::sort(
        all, {}, [](const named_node& each) { return std::tuple(each.at.line, each.at.column); });
    return all;
}

/// One file on its way from TOML to a document.
class document_reader {
public:
    explicit document_reader(const std::string& file) { made_.file = file; }

    machine_document read(std::string_view text) {
        const toml::table root = parse(text);
        for (const named_node& each : in_file_order(root)) {
            const toml::table& table = table_of(each);
            if (each.key == "options") {
                read_options(table);
            } else if (each.key == "operations") {
                read_operations(table);
            } else {
                made_.tables.push_back(read_table(std::string(each.key), 0, each.at, table));
            }
        }
        return std::move(made_);
    }

private:
    toml::table parse(std::string_view text) const {
        try {
            return toml::parse(text);
        } catch (const toml::parse_error& wrong) {
            reject(place(wrong.source().begin),
                   fmt::format("this is not TOML: {}", wrong.description()));
        }
    }

    std::string place(const toml::source_position& at) const {
        return fmt::format("{}, line {}", made_.file, at.line);
    }

    /// The table that stands under a heading of its own; null for anything else.
    static const toml::table* block_of(const named_node& each) {
        const toml::table* const table = each.node->as_table();
        return table == nullptr || table->is_inline() ? nullptr : table;
    }

    const toml::table& table_of(const named_node& each) const {
        if (const toml::table* const table = block_of(each)) return *table;
        reject(place(each.at), fmt::format("{} must be a table: [{}]", each.key, each.key));
    }

    /// `[operations.put]`, or `[[operations.put]]` for each regime.
    void read_operations(const toml::table& groups) {
        for (const named_node& group : in_file_order(groups)) {
            const std::string path = fmt::format("operations.{}", group.key);
            if (const toml::table* const only = group.node->as_table()) {
                made_.tables.push_back(read_table(path, 0, group.at, *only));
                continue;
            }
            const toml::array* const regimes = group.node->as_array();
            if (regimes == nullptr || !regimes->is_homogeneous<toml::table>()) {
                reject(place(group.at), fmt::format("{} must be a table: [[{}]]", path, path));
            }
            std::uint32_t index = 0;
            for (const toml::node& regime : *regimes) {
                made_.tables.push_back(
                    read_table(path, ++index, regime.source().begin, *regime.as_table()));
            }
        }
    }

    written_table read_table(const std::string& path, std::uint32_t index,
                             const toml::source_position& at, const toml::table& table) const {
        written_table made{.path = path, .index = index, .place = place(at), .values = {}};
        const std::string shared = source_of(table, at);
        for (const named_node& each : in_file_order(table)) {
            if (each.key != "source") made.values.push_back(read_value(each, shared));
        }
        return made;
    }

    /// A plain value, or `{ value = ..., source = "..." }`.
    written_value read_value(const named_node& each, const std::string& shared_source) const {
        written_value made{.key = std::string(each.key),
                           .value = false,
                           .text = {},
                           .source = shared_source,
                           .place = place(each.at),
                           .speaker = said_by::file};
        const toml::node* held = each.node;
        if (const toml::table* const both = held->as_table()) {
            held = both->get("value");
            if (held == nullptr) reject(made.place, fmt::format("{} has no value", each.key));
            for (const auto& [key, node] : *both) {
                if (key.str() != "value" && key.str() != "source") {
                    reject(made.place, fmt::format("{} has a \"{}\"; it can have a value and a "
                                                   "source",
                                                   each.key, key.str()));
                }
            }
            const std::string own = source_of(*both, each.at);
            if (!own.empty()) made.source = own;
        }
        made.value = plain(*held, each.key, made.place);
        made.text = text_of(made.value);
        return made;
    }

    /// @return empty if there is none.
    std::string source_of(const toml::table& table, const toml::source_position& at) const {
        const toml::node* const node = table.get("source");
        if (node == nullptr) return {};
        const auto text = node->value_exact<std::string>();
        const bool is_legal =
            text && std::ranges::any_of(source_beginnings, [&](std::string_view beginning) {
                return text->starts_with(beginning) && text->size() > beginning.size() + 2;
            });
        if (!is_legal) {
            const auto& where = node->source().begin;
            reject(place(where ? where : at),
                   "a source is a text that begins with \"given\", \"fitted on\" or \"assumed "
                   "because\" and goes on");
        }
        expect_printable(*text, "source", place(at));
        return *text;
    }

    /// Texts are shown on terminals, where some characters are commands.
    static void expect_printable(std::string_view text, std::string_view key,
                                 const std::string& where) {
        const bool has_command = std::ranges::any_of(text, [](unsigned char each) {
            return (each < 0x20 && each != '\n' && each != '\t') || each == 0x7f;
        });
        if (has_command) {
            reject(where, fmt::format("{} has characters that cannot be printed", key));
        }
    }

    plain_value plain(const toml::node& node, std::string_view key,
                      const std::string& where) const {
        if (const auto yes_or_no = node.value_exact<bool>()) return *yes_or_no;
        if (const auto whole = node.value_exact<std::int64_t>()) return *whole;
        if (const auto number = node.value_exact<double>()) return *number;
        if (const auto word = node.value_exact<std::string>()) {
            expect_printable(*word, key, where);
            return *word;
        }
        const toml::array* const list = node.as_array();
        if (list == nullptr) {
            reject(where, fmt::format("{} must be a number, a word, true, false or a list of whole "
                                      "numbers",
                                      key));
        }
        // TOML++ calls no empty list homogeneous.
        if (!list->empty() && !list->is_homogeneous<std::int64_t>()) {
            reject(where, fmt::format("{} is a list, which must be of whole numbers", key));
        }
        std::vector<std::int64_t> numbers;
        for (const toml::node& each : *list) numbers.push_back(*each.value_exact<std::int64_t>());
        return numbers;
    }

    /// `[options]`: `key = "table.key"`, or a table of choices.
    void read_options(const toml::table& options) {
        for (const named_node& each : in_file_order(options)) {
            written_option made{.name = std::string(each.key),
                                .target = {},
                                .choices = {},
                                .default_choice = {},
                                .place = place(each.at)};
            if (const auto target = each.node->value_exact<std::string>()) {
                made.target = *target;
            } else if (const toml::table* const choices = block_of(each)) {
                read_choices(*choices, made);
            } else {
                reject(made.place,
                       fmt::format("option {0} must be another name for a key, such as {0} = "
                                   "\"network.latency_us\", or a table of words, [options.{0}]",
                                   made.name));
            }
            made_.options.push_back(std::move(made));
        }
    }

    void read_choices(const toml::table& table, written_option& into) const {
        for (const named_node& each : in_file_order(table)) {
            if (each.key == "default") {
                into.default_choice = each.node->value<std::string>().value_or("");
                continue;
            }
            written_choice made{.name = std::string(each.key), .changes = {}};
            const toml::table* const changes = block_of(each);
            if (changes == nullptr) {
                reject(place(each.at),
                       fmt::format(
                           "[options.{0}] has a \"{1}\"; it can have a default and a table for "
                           "each word, such as [options.{0}.fast], in which sources stand",
                           into.name, each.key));
            }
            read_changes(*changes, "", source_of(*changes, each.at), made.changes);
            into.choices.push_back(std::move(made));
        }
        const auto is_default = [&](const written_choice& choice) {
            return choice.name == into.default_choice;
        };
        if (!std::ranges::any_of(into.choices, is_default)) {
            reject(into.place,
                   fmt::format("option {} needs a default that is one of its choices", into.name));
        }
    }

    /// `table.key = value`: TOML makes tables of it, and here they become one key again. The source
    /// of an inner table is for what stands in it.
    void read_changes(const toml::table& table, const std::string& prefix,
                      const std::string& source, std::vector<written_value>& into) const {
        for (const named_node& each : in_file_order(table)) {
            if (each.key == "source") continue;
            const std::string key = prefix + std::string(each.key);
            const toml::table* const inner = each.node->as_table();
            if (inner != nullptr && !inner->contains("value")) {
                const std::string own = source_of(*inner, each.at);
                read_changes(*inner, key + ".", own.empty() ? source : own, into);
            } else {
                into.push_back(read_value({key, each.node, each.at}, source));
            }
        }
    }

    static std::string text_of(const plain_value& value) {
        return std::visit(
            [](const auto& held) -> std::string {
                if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string>) {
                    return held;
                } else if constexpr (requires { held.size(); }) {
                    std::string all;
                    for (const std::int64_t number : held) {
                        all += fmt::format("{}{}", all.empty() ? "" : ", ", number);
                    }
                    return fmt::format("[{}]", all);
                } else {
                    return fmt::format("{}", held);
                }
            },
            value);
    }

    machine_document made_;
};

}  // namespace

const written_value* written_table::find(std::string_view key) const {
    const auto found = std::ranges::find(values, key, &written_value::key);
    return found == values.end() ? nullptr : &*found;
}

std::string written_table::name() const {
    return index == 0 ? path : fmt::format("{}.{}", path, index);
}

machine_document parse_document(std::string_view text, const std::string& file) {
    return document_reader(file).read(text);
}

std::string_view type_of(const plain_value& value) {
    constexpr std::array<std::string_view, 5> names{"a truth value", "a whole number", "a number",
                                                    "a word", "a list"};
    return names[value.index()];
}

void reject(std::string_view place, std::string_view mistake) {
    std::string sentence = fmt::format("{}: {}", place, mistake);
    // What a file says may be anything; a sentence is one line.
    std::ranges::replace_if(
        sentence, [](char letter) { return static_cast<unsigned char>(letter) < 0x20; }, ' ');
    throw error(status::bad_argument, sentence);
}

}  // namespace selion::machine::sim
